import { Download } from "./downloads.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

/** The same fields of both. */
const ofGroupFragment = graphql(`
  fragment ExportOfGroup on Group {
    id
    uniqueName
    csv: experimentsUrl(filter: $filter, order: $order)
    ndjson: experimentsUrl(format: NDJSON, filter: $filter, order: $order)
    metrics: metricsUrl(filter: $filter, order: $order)
  }
`);

const ofProjectFragment = graphql(`
  fragment ExportOfProject on Project {
    id
    uniqueName
    csv: experimentsUrl(filter: $filter, order: $order)
    ndjson: experimentsUrl(format: NDJSON, filter: $filter, order: $order)
    metrics: metricsUrl(filter: $filter, order: $order)
  }
`);

interface ExportProps {
  readonly of:
    | { readonly group: FragmentType<typeof ofGroupFragment> }
    | { readonly project: FragmentType<typeof ofProjectFragment> };
}

/** Saves all runs of the list as it is filtered and ordered, or their metrics, as a table. */
export function Export({ of }: ExportProps) {
  const { uniqueName, csv, ndjson, metrics } =
    "group" in of ? readFragment(ofGroupFragment, of.group) : readFragment(ofProjectFragment, of.project);
  const files = [
    ["Runs as CSV", csv, "runs.csv"],
    ["Runs as NDJSON", ndjson, "runs.ndjson"],
    ["Metrics as CSV", metrics, "metrics.csv"],
  ] as const;
  return (
    <details className="choice">
      <summary>Export</summary>
      <div>
        {files.map(
          ([label, url, end]) =>
            url && <Download key={end} url={url} name={`${uniqueName}.${end}`} label={label} />,
        )}
      </div>
    </details>
  );
}
