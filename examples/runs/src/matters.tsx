import { useQuery } from "urql";
import { type Address, isGroup, replaceAddress } from "./address.ts";
import { inDigits } from "./curve.ts";
import { Trouble } from "./errors.tsx";
import { graphql, readFragment } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { parametersOf, textOf } from "./parameters.ts";
import { Scatter } from "./scatter.tsx";
import { Sheet } from "./sheet.tsx";
import { viewOf } from "./view.ts";

const mattersFragment = graphql(`
  fragment Matters on ExperimentConnection {
    nodes {
      id
      uniqueName
      parameters {
        name
        value
      }
      latestMetrics {
        name
        value
      }
    }
    summary {
      scannedRows
      total
      metrics {
        name
      }
      parameters {
        name
      }
      importance(metric: $metric) {
        name
        count
        correlation
      }
      breakdown(by: [$by], metrics: [$metric]) {
        values
        count
        metrics {
          mean
          standardDeviation
          min
          max
        }
      }
    }
  }
`);

/** The selections of `GroupSummary` and `BestExperiments` of `schema/operations`. A hundred runs are one request. */
const mattersQuery = graphql(`
  query Matters($id: ID!, $isGroup: Boolean!, $filter: RunFilter, $metric: String!, $by: BreakdownKey!) {
    group(id: $id) @include(if: $isGroup) {
      id
      experiments(first: 100, filter: $filter) {
        ...Matters
      }
    }
    project(id: $id) @skip(if: $isGroup) {
      id
      experiments(first: 100, filter: $filter) {
        ...Matters
      }
    }
  }
`);

/** The parameters that matter for a metric, over the runs of a list as it is filtered. */
export function Matters({ address }: { address: Address }) {
  const { list = "", matters: metric = "", by = "status" } = address;
  const [{ data, error, fetching }, read] = useQuery({
    query: mattersQuery,
    variables: {
      id: list,
      isGroup: isGroup(list),
      filter: viewOf(address).filter,
      metric,
      by: by === "status" ? { property: "STATUS" } : { parameter: by },
    },
  });
  const found = readFragment(mattersFragment, (data?.group ?? data?.project)?.experiments);
  const summary = found?.summary;
  const retry = () => read({ requestPolicy: "network-only" });
  const choose = (change: Partial<Address>) => replaceAddress({ ...address, ...change });
  return (
    <Sheet name={`What matters in ${list}`}>
      <div className="heading">
        <h2>What matters for {metric}</h2>
        <div className="tools">
          <Choice
            label="Metric"
            value={metric}
            options={summary?.metrics?.map(({ name }) => name) ?? []}
            onChoose={(matters) => choose({ matters })}
          />
          <Choice
            label="Group by"
            value={by}
            options={["status", ...(summary?.parameters ?? []).map(({ name }) => name)]}
            onChoose={(name) => choose({ by: name })}
          />
        </div>
      </div>
      {!found && fetching && <Loading what="what matters" lines={10} />}
      {!fetching && <Trouble error={error} data={summary} retry={retry} />}
      {found && summary && (
        <div className="matters" aria-busy={fetching}>
          <Importance
            metric={metric}
            rows={summary.importance ?? []}
            onChoose={(name) => choose({ by: name })}
          />
          <Groups metric={metric} by={by} rows={summary.breakdown ?? []} />
          {by !== "status" && (
            <Scatter
              metric={metric}
              parameter={by}
              points={found.nodes.map(({ uniqueName, parameters, latestMetrics }) => ({
                name: uniqueName,
                x: parametersOf(parameters)[by],
                y: latestMetrics?.find(({ name }) => name === metric)?.value,
              }))}
              address={address}
            />
          )}
        </div>
      )}
      {summary && (
        <p className="hint">
          Of {summary.scannedRows} runs
          {summary.total !== null && summary.total > summary.scannedRows ? `, of ${summary.total}` : ""}.
        </p>
      )}
    </Sheet>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {[...new Set([value, ...options])].map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

interface ImportanceProps {
  readonly metric: string;
  readonly rows: readonly {
    readonly name: string;
    readonly count: number;
    readonly correlation: number | null;
  }[];
  readonly onChoose: (name: string) => void;
}

/** The correlation of a metric with each numeric parameter: from -1 to 1, the strongest first. */
function Importance({ metric, rows, onChoose }: ImportanceProps) {
  return (
    <section className="panel" aria-labelledby="importance">
      <h3 id="importance">Parameters that go with {metric}</h3>
      {rows.length === 0 && <p className="empty">No parameter is a number that differs.</p>}
      <ul className="importance">
        {rows.map(({ name, count, correlation }) => (
          <li key={name}>
            <button className="plain" onClick={() => onChoose(name)}>
              {name}
            </button>
            <span className="strength" data-sign={Math.sign(correlation ?? 0)} aria-hidden="true">
              <span style={{ width: `${Math.abs(correlation ?? 0) * 100}%` }} />
            </span>
            <span title={`Rank correlation over ${count} runs`}>{correlation?.toFixed(2) ?? "–"}</span>
          </li>
        ))}
      </ul>
      <p className="hint">
        Rank correlation: near 1, {metric} grows with the parameter; near -1, it shrinks; near 0, it does not
        depend on it alone.
      </p>
    </section>
  );
}

interface GroupsProps {
  readonly metric: string;
  readonly by: string;
  readonly rows: readonly {
    readonly values: readonly unknown[];
    readonly count: number;
    readonly metrics: readonly {
      readonly mean: number | null;
      readonly standardDeviation: number | null;
      readonly min: number | null;
      readonly max: number | null;
    }[];
  }[];
}

/** The metric over the runs with each value of a parameter. */
function Groups({ metric, by, rows }: GroupsProps) {
  return (
    <section className="panel" aria-labelledby="groups">
      <h3 id="groups">
        {metric} by {by}
      </h3>
      <div className="scroll" tabIndex={0} role="group" aria-label={`Table of ${metric} by ${by}`}>
        <table>
          <thead>
            <tr>
              {[by, "runs", "mean ± deviation", "smallest", "largest"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ values, count, metrics: [statistics] }) => {
              const value = textOf(values[0]);
              const deviation = statistics?.standardDeviation;
              return (
                <tr key={value}>
                  <th scope="row">{by === "status" ? value.toLowerCase() : value}</th>
                  <td>{count}</td>
                  <td>
                    {inDigits(statistics?.mean)}
                    {typeof deviation === "number" && ` ± ${inDigits(deviation)}`}
                  </td>
                  <td>{inDigits(statistics?.min)}</td>
                  <td>{inDigits(statistics?.max)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
