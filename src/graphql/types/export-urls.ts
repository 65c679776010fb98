import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import { arg, builder, OPEN } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { idOf } from "../core/ids.ts";
import type { Resource } from "../core/resource.ts";
import { RunOrder, selectionArgs } from "./run-list.ts";

/* URLs of exports: a table of the experiments of a project or group, or of their metrics. */

/** The internal values are file name extensions. */
const ExportFormat = builder.enumType("ExportFormat", {
  description: `Format of an export. ${OPEN.enum}`,
  values: {
    CSV: { value: "csv", description: "CSV with a header row." },
    NDJSON: { value: "ndjson", description: "A JSON object on each line." },
  } as const,
});

export type Extension = typeof ExportFormat.$inferType;

const urlArgs = {
  format: arg.field({ type: ExportFormat, required: true, defaultValue: "csv", description: "Format." }),
  ...selectionArgs,
  order: arg.field({
    type: RunOrder,
    description: "Default: the oldest first, if the server has the order.",
  }),
  columns: arg.stringList({
    description: "Names of the columns, such as `uniqueName` or `parameter.lr`. Default: all of the list.",
  }),
};

const metricsArgs = {
  ...urlArgs,
  names: arg.stringList({ description: "Names of the metrics. Default: all." }),
};

/** Maximum length of a URL, in characters. The headers of a request, which include the URL, may have 16 kB. */
const MAX_URL_LENGTH = 12_000;

const { fromAddress } = fieldsOf();

/** Returns the URL of an export, with objects and lists as JSON. Throws `InputError` if the URL is too long. */
function urlOf(
  resource: Resource,
  what: "runs" | "metrics",
  { format, ...given }: InputShapeFromFields<typeof metricsArgs>,
  { publicUrl }: Context,
): string {
  const parameters = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    value == null ? [] : [[name, typeof value === "string" ? value : JSON.stringify(value)]],
  );
  const query = parameters.length > 0 ? `?${new URLSearchParams(parameters)}` : "";
  const url = `${publicUrl}/export/${idOf(resource)}/${what}.${format}${query}`;
  if (url.length <= MAX_URL_LENGTH) return url;
  throw new InputError(
    `expected arguments for a URL of at most ${MAX_URL_LENGTH} characters, got ${url.length}`,
  );
}

const NO_REQUEST =
  "Costs no request; the download refuses arguments that the server or the list does not have. Send the `Authorization` header of GraphQL with it.";

export const experimentsUrl = {
  args: urlArgs,
  ...fromAddress(
    `URL of the experiments as a table, with columns for parameters (\`parameter.lr\`) and latest metrics (\`metric.loss\`). The columns \`readme\`, \`config\` and the like cost a request for each run. ${NO_REQUEST}`,
    (resource, args: InputShapeFromFields<typeof urlArgs>, context) => urlOf(resource, "runs", args, context),
  ),
  // Null only with an error: the arguments are too long for a URL.
  nullable: true,
};

export const metricsUrl = {
  args: metricsArgs,
  ...fromAddress(
    `URL of the metrics of the experiments as a table, one row per value, or one with its \`error\` for a run that cannot be read. ${NO_REQUEST}`,
    (resource, args: InputShapeFromFields<typeof metricsArgs>, context) =>
      urlOf(resource, "metrics", args, context),
  ),
  nullable: true,
};
