import { Chart, type Point } from "./chart.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useMetricRecords } from "./watch-metrics.ts";

const chartsFragment = graphql(`
  fragment Charts on Experiment {
    id
    isFinished
    metricSeries(maxPoints: 200) {
      name
      times
      values
    }
    # The same request as the series. The events continue behind it.
    metrics {
      pageInfo {
        endCursor
      }
    }
  }
`);

interface ChartsProps {
  readonly of: FragmentType<typeof chartsFragment>;
  /** Reads the run anew. */
  readonly onChange: () => void;
}

/** The metrics of a run, one chart each, with the values that are recorded meanwhile. */
export function Charts({ of, onChange }: ChartsProps) {
  const { id, isFinished, metricSeries, metrics } = readFragment(chartsFragment, of);
  const after = metrics?.pageInfo.endCursor ?? null;
  const records = useMetricRecords({ id, after, isFinished, onFirst: onChange });

  const charts = (metricSeries ?? []).map(({ name, times, values }) => {
    const read = values.flatMap((value, at) => pointOf(times[at], value));
    const since = read.at(-1)?.second ?? 0;
    const added = records.flatMap(({ createdAt, values: told }) =>
      pointOf(createdAt, told.find((each) => each.name === name)?.value),
    );
    return { name, points: [...read, ...added.filter(({ second }) => second > since)] };
  });
  if (metricSeries && charts.length === 0) {
    return <p className="empty">{isFinished ? "No metrics were recorded." : "No metrics yet."}</p>;
  }
  return charts.map(({ name, points }) => (
    <Chart key={name} name={name} points={points} isLive={!isFinished} />
  ));
}

/** None if the time or the value is missing. */
function pointOf(time: string | null | undefined, value: number | null | undefined): Point[] {
  return time && typeof value === "number" ? [{ second: Date.parse(time) / 1_000, value }] : [];
}
