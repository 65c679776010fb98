import { type Address, hrefOf, partsOf, projectOf, replaceAddress, within } from "./address.ts";
import { firstOrderOf } from "./columns.tsx";
import { Trouble } from "./errors.tsx";
import { readFilter } from "./filter.ts";
import { useNames } from "./filter-line.tsx";
import { graphql } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Loading, Sheet } from "./parts.tsx";
import { type Group, rank } from "./rank.ts";

const mattersQuery = graphql(`
  query Matters($project: ID!, $filter: RunFilter, $metric: String!) {
    project(id: $project) {
      id
      experiments(first: 1, filter: $filter, order: { by: { field: CREATED_AT } }) {
        summary {
          scannedRows
          total
          metrics {
            name
          }
          parameters(onlyDifferences: false) {
            name
            count
            distinctCount
          }
          importance(metric: $metric) {
            name
            count
            correlation
          }
        }
      }
    }
  }
`);

interface Breakdowns {
  readonly project: {
    readonly experiments: { readonly summary: Readonly<Record<string, readonly Group[] | null>> } | null;
  } | null;
}

/** Builds a query with one breakdown per parameter, because their names are only known at runtime. */
function breakdownsOf(parameters: readonly string[]): string {
  const fields = parameters.map(
    (name, at) =>
      `p${at}: breakdown(by: [{ parameter: ${JSON.stringify(name)} }], metrics: [$metric])
        { metrics { name count mean standardDeviation } }`,
  );
  return `query Breakdowns($project: ID!, $filter: RunFilter, $metric: String!) {
    project(id: $project) {
      id
      experiments(first: 1, filter: $filter, order: { by: { field: CREATED_AT } }) { summary { ${fields.join(" ") || "__typename"} } }
    }
  }`;
}

/** Ranks parameters by how strongly a metric depends on them in the filtered runs. Links each to the runs grouped by it. */
export function Matters({ address }: { address: Address }) {
  const { list = "", matters: metric = "", filter: line } = address;
  const names = useNames(list, Boolean(line));
  const { filter } = readFilter(line, names ?? undefined);
  const variables = { project: projectOf(list), filter: within(list, filter), metric };
  const isReady = !line || names !== undefined;
  const { data, error, fetching, reload } = useRead({ query: mattersQuery, variables, pause: !isReady });
  const summary = data?.project?.experiments?.summary;
  const varied = (summary?.parameters ?? []).filter((each) => each.distinctCount > 1).map(({ name }) => name);
  const breakdowns = useRead<Breakdowns, object>({
    query: breakdownsOf(varied),
    variables,
    pause: varied.length === 0,
  });
  const groups = breakdowns.data?.project?.experiments?.summary;
  const isRead = summary && (groups || varied.length === 0);
  const { ranked, leftOut } = isRead
    ? rank(summary, (name) => groups?.[`p${varied.indexOf(name)}`] ?? [])
    : { ranked: [], leftOut: [] };
  const metrics = partsOf([metric, ...(summary?.metrics ?? []).map(({ name }) => name)].join());
  return (
    <Sheet name={`What matters in ${list}`}>
      <div className="heading">
        <h2>What matters for {metric}</h2>
        <label className="check">
          Metric
          <select
            value={metric}
            onChange={({ currentTarget }) => replaceAddress({ ...address, matters: currentTarget.value })}
          >
            {metrics.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      <Trouble error={error ?? breakdowns.error} data={summary} retry={error ? reload : breakdowns.reload} />
      {!isRead && (fetching || breakdowns.fetching) && <Loading what="what matters" />}
      {isRead && (
        <section className="panel" aria-label={`Parameters that go with ${metric}`} aria-busy={fetching}>
          {ranked.length === 0 && <p className="empty">No parameter can be ranked.</p>}
          <ul className="importance">
            {ranked.map(({ name, strength, kind }) => (
              <li key={name}>
                <a
                  href={hrefOf({
                    list,
                    filter: line,
                    group: `parameter.${name}`,
                    sort: firstOrderOf(`metric.${metric}`),
                  })}
                >
                  {name}
                </a>
                <meter min={0} max={1} value={Math.abs(strength)} aria-label={`Strength of ${name}`} />
                <span>{strength.toFixed(2)}</span>
                <span className="hint">{kind}</span>
              </li>
            ))}
          </ul>
          <p className="hint">
            Rank correlation, for numbers: near 1, {metric} grows with the parameter. Near -1, it shrinks as
            the parameter grows. Near 0, there is no overall trend, but the parameter can still matter. If the
            best values lie in the middle, the runs grouped by the parameter show it. If its influence depends
            on another parameter, filter by that one.
          </p>
          <p className="hint">
            Spread between groups, for texts, which have no order: near 1, {metric} differs between groups of
            equal values. Near 0, it differs as much within each group.
          </p>
          {leftOut.length > 0 && <p className="hint">Not ranked: {leftOut.join(", ")}.</p>}
          <p className="hint">
            Based on {summary.scannedRows}{" "}
            {summary.total !== null && summary.total > summary.scannedRows ? `of ${summary.total} ` : ""}runs.
          </p>
        </section>
      )}
    </Sheet>
  );
}
