import { useState } from "react";
import { Chart } from "./chart.tsx";
import { pointsOf } from "./curve.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { Drawing, Range } from "./plot.tsx";
import { useMetricRecords } from "./watch-metrics.ts";

const chartsFragment = graphql(`
  fragment Charts on Experiment {
    id
    uniqueName
    isFinished
    metricSeries(maxPoints: 200) {
      name
      steps
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

const DRAWING: Drawing = { axis: "time", isLog: false, smoothing: 0 };

/** The metrics of a run, one chart each, with the values that are recorded meanwhile. */
export function Charts({ of, onChange }: ChartsProps) {
  const { id, uniqueName, isFinished, metricSeries, metrics } = readFragment(chartsFragment, of);
  const after = metrics?.pageInfo.endCursor ?? null;
  const records = useMetricRecords({ id, after, isFinished, onFirst: onChange });
  const [range, setRange] = useState<Range | null>(null);

  const charts = (metricSeries ?? []).map(({ name, steps, times, values }) => {
    const read = pointsOf({ steps, times, values });
    const all = pointsOf({
      steps: [...steps, ...records.map((_record, at) => (steps.at(-1) ?? 0) + at + 1)],
      times: [...times, ...records.map(({ createdAt }) => createdAt)],
      values: [...values, ...records.map((record) => valueOf(record.values, name))],
    });
    // What an event tells may have been read already.
    const since = read.at(-1)?.second ?? -1;
    return { name, points: [...read, ...all.slice(read.length).filter(({ second }) => second > since)] };
  });
  if (metricSeries && charts.length === 0) {
    return <p className="empty">{isFinished ? "No metrics were recorded." : "No metrics yet."}</p>;
  }
  return (
    <>
      {charts.map(({ name, points }) => (
        <Chart
          key={name}
          name={name}
          curves={[{ name: uniqueName, place: 0, points }]}
          drawing={DRAWING}
          range={range}
          onRange={setRange}
        />
      ))}
      {range && (
        <button className="reset" onClick={() => setRange(null)}>
          Reset zoom
        </button>
      )}
    </>
  );
}

interface Named {
  readonly name: string;
  readonly value: number | null;
}

const valueOf = (values: readonly Named[], name: string) =>
  values.find((each) => each.name === name)?.value ?? null;
