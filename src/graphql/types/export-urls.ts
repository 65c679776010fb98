import { arg, builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { idOf } from "../core/ids.ts";

/* The URLs of exports: all experiments of a project or group, or their metrics, as a table. */

/** The values are file name extensions. */
const ExportFormat = builder.enumType("ExportFormat", {
  description: "Format of an export.",
  values: {
    CSV: { value: "csv", description: "CSV with a header row." },
    NDJSON: { value: "ndjson", description: "A JSON object on each line." },
  } as const,
});

export type Extension = typeof ExportFormat.$inferType;

const { fromAddress } = fieldsOf();

const exportUrl = (what: "runs" | "metrics", description: string) => ({
  args: {
    format: arg.field({ type: ExportFormat, required: true, defaultValue: "csv", description: "Format." }),
  },
  ...fromAddress(
    `${description} Query parameters: \`filter\` and \`order\` as JSON, \`query\`, \`columns\` with commas. Send the \`Authorization\` header of GraphQL.`,
    (resource, { format }: { format: Extension }, { publicUrl }) =>
      `${publicUrl}/export/${idOf(resource)}/${what}.${format}`,
  ),
});

export const runsUrl = exportUrl(
  "runs",
  "URL of all experiments as a table, with columns for parameters (`parameter.lr`) and latest metrics (`metric.loss`); `readme`, `config` and the like cost a request for each run.",
);

export const metricsUrl = exportUrl(
  "metrics",
  "URL of the metrics of all experiments as a table, one row per value, or one with its `error` for a run that cannot be read; the query parameter `names` selects metrics.",
);
