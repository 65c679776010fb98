import { useQuery } from "urql";
import { Chart } from "./chart.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Graph } from "./graph.tsx";
import { Status } from "./status.tsx";

/** Each picture says in its fragment what it shows; all of them are one request. */
const runQuery = graphql(`
  query Run($id: ID!) {
    experiment(id: $id) {
      id
      uniqueName
      ...Status
      metricSeries(maxPoints: 200) {
        name
        ...Chart
      }
      ...Graph
    }
  }
`);

export function Run({ id }: { id: string }) {
  const [{ data, error, fetching }] = useQuery({ query: runQuery, variables: { id } });
  if (fetching) return <p className="hint">Loading…</p>;

  const run = data?.experiment;
  if (!run) return <Trouble error={error} />;

  return (
    <>
      <h2>
        {run.uniqueName} <Status of={run} />
      </h2>
      <Trouble error={error} data={data} />
      {run.metricSeries?.map((series) => (
        <Chart key={series.name} series={series} />
      ))}
      {run.metricSeries?.length === 0 && <p className="hint">No metrics yet.</p>}
      <Graph run={run} />
    </>
  );
}
