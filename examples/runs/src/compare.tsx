import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { Fragment } from "react";
import { type Address, compareHref, partsOf, runHref } from "./address.ts";
import { Curves } from "./charts.tsx";
import { Trouble } from "./errors.tsx";
import { inDigits, isSmallerBetter, textOf } from "./format.ts";
import type { CurvesFragment, Incremental } from "./generated/graphql.ts";
import { graphql, readFragment } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Loading, Sheet } from "./parts.tsx";
import { Status } from "./status.tsx";

/** The fragment is deferred: the page shows the differences before the curves arrive. */
const curvesFragment: DocumentTypeDecoration<Incremental<CurvesFragment>, object> = graphql(`
  fragment Curves on Experiment {
    id
    metricSeries(maxPoints: $maxPoints) {
      name
      steps
      times
      values
    }
  }
`);

const compareQuery = graphql(`
  query Compare($ids: [ID!]!, $maxPoints: Int!) {
    compareExperiments(ids: $ids, onlyDifferences: true) {
      experiments {
        id
        uniqueName
        ...Status
        ...Curves @defer
      }
      parameters {
        name
        values
      }
      metrics {
        name
        values
      }
    }
  }
`);

/** Maximum number of points in all curves of a metric together. More would be slow to draw and hard to distinguish. */
const POINTS = 12_000;

/** The curves of several runs, and a table of their values with one column per run. */
export function Compare({ address }: { address: Address }) {
  const ids = partsOf(address.compare);
  const { data, error, fetching, reload } = useRead({
    query: compareQuery,
    variables: { ids, maxPoints: Math.max(50, Math.min(500, Math.floor(POINTS / ids.length))) },
    requestPolicy: "cache-and-network",
    // A single run cannot be compared.
    pause: ids.length < 2,
  });
  const comparison = data?.compareExperiments;
  const all = comparison?.experiments ?? [];
  const runs = all.flatMap((run) => run ?? []);
  const curves = readFragment(curvesFragment, runs);
  const parts = (["metrics", "parameters"] as const).map((title) => ({
    title,
    rows: (comparison?.[title] ?? []).map(({ name, values }) => ({
      name,
      values: values.filter((_value, at) => all[at] !== null),
    })),
  }));
  return (
    <Sheet name={`${ids.length} runs compared`}>
      <h2>{ids.length} runs compared</h2>
      <Trouble error={error} data={comparison} retry={reload} />
      {!comparison && fetching && <Loading what="the comparison" />}
      {comparison && (
        <>
          <section className="panel" aria-label="Curves">
            {curves.some(({ metricSeries }) => metricSeries === undefined) ? (
              <Loading what="the curves" />
            ) : (
              <Curves
                runs={runs.map(({ uniqueName: name }, at) => ({
                  name,
                  series: curves[at]?.metricSeries ?? [],
                }))}
                address={address}
              />
            )}
          </section>
          <section className="panel" aria-label="Values">
            <div className="scroll" tabIndex={0} role="group" aria-label="Table of values">
              <table>
                <thead>
                  <tr>
                    <td />
                    {runs.map((run) => (
                      <th key={run.id} scope="col">
                        <a href={runHref(run.uniqueName)}>{run.uniqueName}</a> <Status of={run} />{" "}
                        <a
                          href={compareHref(
                            ids.filter((id) => id !== run.uniqueName),
                            address,
                          )}
                          aria-label={`Compare without ${run.uniqueName}`}
                        >
                          ×
                        </a>
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {parts.map(({ title, rows }) => (
                    <Fragment key={title}>
                      <tr>
                        <th scope="rowgroup" colSpan={runs.length + 1}>
                          {rows.length > 0 ? title : `${title}: all equal`}
                        </th>
                      </tr>
                      {rows.map(({ name, values }) => (
                        <Row key={name} name={name} values={values} isMetric={title === "metrics"} />
                      ))}
                    </Fragment>
                  ))}
                </tbody>
              </table>
            </div>
            <p className="hint">★ marks the best value: the smallest loss or error, otherwise the largest.</p>
          </section>
        </>
      )}
    </Sheet>
  );
}

interface RowProps {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly isMetric: boolean;
}

function Row({ name, values, isMetric }: RowProps) {
  const numbers = isMetric ? values.filter((value) => typeof value === "number") : [];
  const best = isSmallerBetter(name) ? Math.min(...numbers) : Math.max(...numbers);
  return (
    <tr>
      <th scope="row">{name}</th>
      {values.map((value, at) => (
        <td key={at} className={value === best ? "best" : undefined}>
          {value === best && "★ "}
          {isMetric && typeof value === "number" ? inDigits(value) : textOf(value)}
        </td>
      ))}
    </tr>
  );
}
