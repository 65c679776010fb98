import { Chart } from "./chart.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const chartsFragment = graphql(`
  fragment Charts on Experiment {
    id
    isFinished
    metricSeries(maxPoints: 200) {
      name
      times
      values
    }
  }
`);

/** The metrics of a run, one chart each. */
export function Charts({ of }: { of: FragmentType<typeof chartsFragment> }) {
  const { isFinished, metricSeries } = readFragment(chartsFragment, of);
  const charts = (metricSeries ?? []).map(({ name, times, values }) => ({
    name,
    points: values.flatMap((value, at) => {
      const time = times[at];
      return value === null || !time ? [] : [{ second: Date.parse(time) / 1_000, value }];
    }),
  }));
  if (metricSeries && charts.length === 0) {
    return <p className="empty">{isFinished ? "No metrics were recorded." : "No metrics yet."}</p>;
  }
  return charts.map(({ name, points }) => (
    <Chart key={name} name={name} points={points} isLive={!isFinished} />
  ));
}
