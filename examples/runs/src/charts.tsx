import { useState } from "react";
import { Brush, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { type Address, replaceAddress } from "./address.ts";
import { inDigits } from "./format.ts";
import type { ChartsFragment } from "./generated/graphql.ts";
import { type DocumentType, type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useLive } from "./live.tsx";
import { smooth } from "./smooth.ts";

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
    # Shares the request of the series. The events continue after this cursor.
    metrics {
      pageInfo {
        endCursor
      }
    }
  }
`);

const watchMetricsSubscription = graphql(`
  subscription WatchMetrics($id: ID!, $after: String) {
    experimentMetricRecorded(id: $id, after: $after) {
      id
      createdAt
      values {
        name
        value
      }
    }
  }
`);

type MetricRecord = DocumentType<typeof watchMetricsSubscription>["experimentMetricRecorded"];
type Series = NonNullable<ChartsFragment["metricSeries"]>[number];

interface ChartsProps {
  readonly of: FragmentType<typeof chartsFragment>;
  readonly address: Address;
  /** Reads the run again. */
  readonly onChange: () => void;
}

/** The charts of a run, one per metric. New values are added as they are recorded. */
export function Charts({ of, address, onChange }: ChartsProps) {
  const { id, uniqueName, isFinished, metricSeries, metrics } = readFragment(chartsFragment, of);
  const after = metrics?.pageInfo.endCursor ?? null;
  const [records, setRecords] = useState<readonly MetricRecord[]>([]);
  useLive({
    query: watchMetricsSubscription,
    of: `${id} ${after}`,
    isOver: isFinished,
    // Continues after the last record, so that each one arrives once, even if the connection breaks.
    variables: () => ({ id, after: records.at(-1)?.id ?? after }),
    onEvent: ({ experimentMetricRecorded: record }) => {
      // Without a cursor, records between the read and the subscription may be missing, so the run is read again.
      if (after === null) onChange();
      else setRecords((earlier) => [...earlier, record]);
    },
  });
  const series = (metricSeries ?? []).map(({ name, steps, times, values }) => {
    // Leaves out records that a later read of the run has added to the series.
    const last = Date.parse(times.at(-1) ?? "");
    const added = records.filter(({ createdAt }) => !(Date.parse(createdAt ?? "") <= last));
    const valueIn = (record: MetricRecord) => record.values.find((each) => each.name === name)?.value ?? null;
    return {
      name,
      steps: [...steps, ...added.map((_record, at) => (steps.at(-1) ?? -1) + at + 1)],
      times: [...times, ...added.map(({ createdAt }) => createdAt)],
      values: [...values, ...added.map(valueIn)],
    };
  });
  if (metricSeries && series.length === 0)
    return <p className="empty">{isFinished ? "No metrics were recorded." : "No metrics yet."}</p>;
  return <Curves runs={[{ name: uniqueName, series }]} address={address} />;
}

interface Curve extends Series {
  /** Index of the run, which determines its colour. */
  readonly place: number;
}

/** One row per step, with the value of each curve at that step. */
function tableOf(curves: readonly Curve[], { scale, smooth: weight }: Address) {
  const rows = new Map<number, Record<string, number | null>>();
  for (const { place, steps, values } of curves)
    for (const [at, value] of smooth(steps, values, Math.min(0.99, Number(weight) || 0)).entries()) {
      const step = steps[at] ?? 0;
      const shown = scale === "log" && value !== null && value <= 0 ? null : value;
      rows.set(step, { ...rows.get(step), step, [place]: shown });
    }
  return [...rows.values()].toSorted((one, other) => (one["step"] ?? 0) - (other["step"] ?? 0));
}

/** A short label for the value axis. Different ticks have different labels. */
const tickInDigits = (value: number) => String(Number(value.toPrecision(4)));

const TICK = { fill: "var(--soft)" };

const colourOf = (place: number) => `var(--curve-${place % 7})`;

interface CurvesProps {
  readonly runs: readonly { readonly name: string; readonly series: readonly Series[] }[];
  readonly address: Address;
}

/** The curves of some runs, one chart per metric. The address has their scale and smoothing. The bar below a chart selects a range. */
export function Curves({ runs, address }: CurvesProps) {
  const { scale, smooth: weight = "0" } = address;
  const metrics = [...new Set(runs.flatMap(({ series }) => series.map(({ name }) => name)))].toSorted();
  const draw = (change: Partial<Address>) => replaceAddress({ ...address, ...change });
  return (
    <>
      <div className="toolbar">
        <label>
          Smoothing
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.03"
            value={weight}
            onChange={({ currentTarget: { value } }) => draw({ smooth: value === "0" ? undefined : value })}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={scale === "log"}
            onChange={({ currentTarget }) => draw({ scale: currentTarget.checked ? "log" : undefined })}
          />
          log scale
        </label>
      </div>
      {runs.length > 1 && (
        <ul className="legend" aria-label="Runs">
          {runs.map(({ name }, place) => (
            <li key={name}>
              <span className="swatch" style={{ background: colourOf(place) }} /> {name}
            </li>
          ))}
        </ul>
      )}
      <div className="charts">
        {metrics.map((metric) => {
          const curves = runs.flatMap(({ series }, place) => {
            const found = series.find((each) => each.name === metric);
            return found ? [{ ...found, place }] : [];
          });
          const last = curves.length === 1 ? curves[0]?.values.at(-1) : undefined;
          return (
            <figure key={metric} className="chart" aria-label={metric}>
              <figcaption>
                <strong>{metric}</strong> {last !== undefined && <span>{inDigits(last)}</span>}
              </figcaption>
              <ResponsiveContainer width="100%" height={240}>
                <LineChart data={tableOf(curves, address)} syncId="runs" title={`${metric} over steps`}>
                  <CartesianGrid stroke="var(--line)" />
                  <XAxis dataKey="step" type="number" domain={["dataMin", "dataMax"]} tick={TICK} />
                  <YAxis
                    width={56}
                    scale={scale === "log" ? "log" : "auto"}
                    domain={["auto", "auto"]}
                    tick={TICK}
                    tickFormatter={tickInDigits}
                  />
                  <Tooltip
                    contentStyle={{ background: "var(--panel)", borderColor: "var(--line)" }}
                    itemStyle={{ color: "inherit" }}
                    formatter={(value) => inDigits(Number(value))}
                  />
                  {curves.map(({ place }) => (
                    <Line
                      key={place}
                      dataKey={String(place)}
                      name={runs[place]?.name ?? ""}
                      stroke={colourOf(place)}
                      strokeDasharray={place < 7 ? "" : "6 3"}
                      strokeWidth={2}
                      dot={false}
                      connectNulls
                      isAnimationActive={false}
                    />
                  ))}
                  <Brush dataKey="step" height={18} stroke="var(--soft)" fill="var(--raised)" />
                </LineChart>
              </ResponsiveContainer>
            </figure>
          );
        })}
      </div>
    </>
  );
}
