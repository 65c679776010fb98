import type { Address } from "./address.ts";
import { Download } from "./downloads.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { viewOf } from "./view.ts";

/** The same fields of both. */
const ofGroupFragment = graphql(`
  fragment ExportOfGroup on Group {
    id
    uniqueName
    csv: runsUrl
    ndjson: runsUrl(format: NDJSON)
    metrics: metricsUrl
  }
`);

const ofProjectFragment = graphql(`
  fragment ExportOfProject on Project {
    id
    uniqueName
    csv: runsUrl
    ndjson: runsUrl(format: NDJSON)
    metrics: metricsUrl
  }
`);

interface ExportProps {
  readonly of:
    | { readonly group: FragmentType<typeof ofGroupFragment> }
    | { readonly project: FragmentType<typeof ofProjectFragment> };
  readonly address: Address;
}

/** Saves all runs of the list as it is filtered and ordered, or their metrics, as a table. */
export function Export({ of, address }: ExportProps) {
  const { uniqueName, csv, ndjson, metrics } =
    "group" in of ? readFragment(ofGroupFragment, of.group) : readFragment(ofProjectFragment, of.project);
  const { order, filter } = viewOf(address);
  const query = new URLSearchParams({
    order: JSON.stringify(order),
    ...(filter && { filter: JSON.stringify(filter) }),
  });
  const files = [
    ["Runs as CSV", csv, "runs.csv"],
    ["Runs as NDJSON", ndjson, "runs.ndjson"],
    ["Metrics as CSV", metrics, "metrics.csv"],
  ] as const;
  return (
    <details className="choice">
      <summary>Export</summary>
      <div>
        {files.map(([label, url, end]) => (
          <Download key={end} url={`${url}?${query}`} name={`${uniqueName}.${end}`} label={label} />
        ))}
      </div>
    </details>
  );
}
