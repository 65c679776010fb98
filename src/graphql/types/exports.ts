import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { idOf } from "../core/ids.ts";

/*
 * The addresses of exports: all experiments of a project or group, or their metrics, as a table.
 */

/** The formats, with the ends of their file names. */
const FORMATS = {
  CSV: ["csv", "CSV by RFC 4180, in UTF-8, with the names of the columns in the first row."],
  NDJSON: ["ndjson", "A JSON object on each line."],
  ARROW: [
    "arrow",
    "An IPC stream of Apache Arrow: parameters have the type of their values on the first page.",
  ],
} as const;

type Format = keyof typeof FORMATS;

/** The end of the file name of a format. */
export type Extension = (typeof FORMATS)[Format][0];

const ExportFormat = builder.enumType("ExportFormat", {
  description: "Format of an export. Values can be added in a minor release.",
  // Safe: the names are those of the table.
  values: Object.fromEntries(
    Object.entries(FORMATS).map(([name, [, description]]) => [name, { description }]),
  ) as Record<Format, { description: string }>,
});

const { fromAddress } = fieldsOf();

const exportUrl = (what: "runs" | "metrics", description: string) => ({
  nullable: false as const,
  description: `${description} Its query takes the arguments \`filter\`, \`order\`, \`query\` and \`savedSearch\` of lists, objects as JSON, and \`columns\`, names with commas in between. Requires the same \`Authorization\` header as GraphQL. Costs no upstream request.`,
  args: builder.args((t) => ({
    format: t.field({ type: ExportFormat, required: true, defaultValue: "CSV", description: "Format." }),
  })),
  ...fromAddress((resource, { format }: { format: Format }, { publicUrl }) => {
    const [extension] = FORMATS[format];
    return `${publicUrl}/export/${idOf(resource)}/${what}.${extension}`;
  }),
});

export const runsUrl = exportUrl(
  "runs",
  "URL at this gateway that streams all experiments as a table: a row for each, with parameters (`param.lr`) and latest metrics (`metric.loss`) as columns.",
);

export const metricsUrl = exportUrl(
  "metrics",
  "URL at this gateway that streams the metrics of all experiments as a table: a row for each value, with its `step` within its run. `names` in its query says which metrics.",
);
