import { useState } from "react";
import type { Address } from "./address.ts";
import { Chart } from "./chart.tsx";
import { pointsOf } from "./curve.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { Range } from "./plot.tsx";
import { drawingOf, Tools } from "./tools.tsx";
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
  readonly address: Address;
  /** Reads the run again. */
  readonly onChange: () => void;
}

/** The metrics of a run, one chart each. Values that are recorded while it is open are added. */
export function Charts({ of, address, onChange }: ChartsProps) {
  const { id, uniqueName, isFinished, metricSeries, metrics } = readFragment(chartsFragment, of);
  const after = metrics?.pageInfo.endCursor ?? null;
  const records = useMetricRecords({ id, after, isFinished, onFirst: onChange });
  const [range, setRange] = useState<Range | null>(null);
  const [isOpen, setOpen] = useState(false);
  const drawing = drawingOf(address, "time");

  const charts = (metricSeries ?? []).map(({ name, steps, times, values }) => {
    const read = pointsOf({ steps, times, values });
    const all = pointsOf({
      steps: [...steps, ...records.map((_record, at) => (steps.at(-1) ?? 0) + at + 1)],
      times: [...times, ...records.map(({ createdAt }) => createdAt)],
      values: [...values, ...records.map((record) => valueOf(record.values, name))],
    });
    // An event may repeat points that were already read.
    const since = read.at(-1)?.second ?? -1;
    const points = [...read, ...all.slice(read.length).filter(({ second }) => second > since)];
    return { name, curves: [{ name: uniqueName, place: 0, points }] };
  });
  if (metricSeries && charts.length === 0) {
    return <p className="empty">{isFinished ? "No metrics were recorded." : "No metrics yet."}</p>;
  }
  return (
    <>
      {charts.length > 0 && (
        <details className="choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>Axis, smoothing, scale and zoom</summary>
          <Tools
            of={charts.flatMap(({ curves }) => curves)}
            address={address}
            usual="time"
            range={range}
            onRange={setRange}
          />
        </details>
      )}
      {charts.map(({ name, curves }) => (
        <Chart key={name} name={name} curves={curves} drawing={drawing} range={range} onRange={setRange} />
      ))}
      {range && !isOpen && (
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
