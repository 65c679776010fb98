import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { idOf } from "../core/ids.ts";

/*
 * The addresses of exports: all experiments of a project or group, or their metrics, as a table.
 */

/** The values are the ends of file names. */
const ExportFormat = builder.enumType("ExportFormat", {
  description: "Format of an export. Values can be added in a minor release.",
  values: {
    CSV: {
      value: "csv",
      description: "CSV by RFC 4180, in UTF-8, with the names of the columns in the first row.",
    },
    NDJSON: { value: "ndjson", description: "A JSON object on each line." },
  } as const,
});

/** The end of the file name of a format. */
export type Extension = typeof ExportFormat.$inferType;

const { fromAddress } = fieldsOf();

const exportUrl = (what: "runs" | "metrics", description: string) => ({
  nullable: false as const,
  description: `${description} Its query takes the arguments \`filter\`, \`order\` and \`query\` of lists, objects as JSON, and \`columns\`, names with commas in between. Requires the same \`Authorization\` header as GraphQL. Costs no upstream request.`,
  args: builder.args((t) => ({
    format: t.field({ type: ExportFormat, required: true, defaultValue: "csv", description: "Format." }),
  })),
  ...fromAddress(
    (resource, { format }: { format: Extension }, { publicUrl }) =>
      `${publicUrl}/export/${idOf(resource)}/${what}.${format}`,
  ),
});

export const runsUrl = exportUrl(
  "runs",
  "URL at this gateway that streams all experiments as a table: a row for each, with parameters (`param.lr`) and latest metrics (`metric.loss`) as columns.",
);

export const metricsUrl = exportUrl(
  "metrics",
  "URL at this gateway that streams the metrics of all experiments as a table: a row for each value, with its `step` within its run. `names` in its query says which metrics.",
);
