import { useState } from "react";
import { Brush, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { type Address, replaceAddress } from "./address.ts";
import { clock, inDigits } from "./format.ts";
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
    # The same request as the series. The events continue behind it.
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

/** The metrics of a run, one chart each. Values that are recorded while it is open are added. */
export function Charts({ of, address, onChange }: ChartsProps) {
  const { id, uniqueName, isFinished, metricSeries, metrics } = readFragment(chartsFragment, of);
  const after = metrics?.pageInfo.endCursor ?? null;
  const [records, setRecords] = useState<readonly MetricRecord[]>([]);
  useLive({
    query: watchMetricsSubscription,
    of: `${id} ${after}`,
    isOver: isFinished,
    // Behind the last record: each once, also when the connection breaks in between.
    variables: () => ({ id, after: records.at(-1)?.id ?? after }),
    onEvent: ({ experimentMetricRecorded: record }) => {
      // Without a cursor, records between the read and the subscription may be missing: reading again brings all.
      if (after === null) onChange();
      else setRecords((earlier) => [...earlier, record]);
    },
  });
  const series = (metricSeries ?? []).map(({ name, steps, times, values }) => {
    // Records that were there when the run was read once more are in the series already.
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
  /** Number of the run, from which its colour follows. */
  readonly place: number;
}

/** A row for each place of the axis, with the values of the curves there. */
function tableOf(curves: readonly Curve[], { axis, scale, smooth: weight }: Address) {
  const rows = new Map<number, Record<string, number | null>>();
  for (const { place, steps, times, values } of curves) {
    const start = Date.parse(times.find((time) => time !== null) ?? "");
    for (const [at, value] of smooth(steps, values, Math.min(0.99, Number(weight) || 0)).entries()) {
      const x =
        axis === "time" ? Math.round((Date.parse(times[at] ?? "") - start) / 1_000) : (steps[at] ?? 0);
      const shown = scale === "log" && value !== null && value <= 0 ? null : value;
      if (Number.isFinite(x)) rows.set(x, { ...rows.get(x), x, [place]: shown });
    }
  }
  return [...rows.values()].toSorted((one, other) => (one["x"] ?? 0) - (other["x"] ?? 0));
}

/** A label of the axis of values: short, and different for any two ticks. */
function tickInDigits(value: number): string {
  const size = Math.abs(value);
  const rounded = Number(value.toPrecision(5));
  return size >= 1e5 || (size > 0 && size < 0.001)
    ? rounded.toExponential().replace("+", "")
    : String(rounded);
}

const colourOf = (place: number) => `var(--curve-${place % 7})`;

interface CurvesProps {
  /** Runs in the order of their colours. */
  readonly runs: readonly { readonly name: string; readonly series: readonly Series[] }[];
  readonly address: Address;
}

/** The curves of some runs, a chart a metric, drawn as the address says. The bar below a chart shows a part of its axis. */
export function Curves({ runs, address }: CurvesProps) {
  const { axis, scale, smooth: weight = "0" } = address;
  const metrics = [...new Set(runs.flatMap(({ series }) => series.map(({ name }) => name)))].toSorted();
  const draw = (change: Partial<Address>) => replaceAddress({ ...address, ...change });
  const xInWords = (x: number) => (axis === "time" ? clock(x) : String(x));
  return (
    <>
      <div className="toolbar">
        <label>
          Over
          <select value={axis} onChange={({ currentTarget }) => draw({ axis: currentTarget.value })}>
            <option value="">steps</option>
            <option value="time">time since the first value</option>
          </select>
        </label>
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
                <LineChart
                  data={tableOf(curves, address)}
                  syncId="runs"
                  title={`${metric} over ${axis || "steps"}`}
                >
                  <CartesianGrid stroke="var(--line)" />
                  <XAxis dataKey="x" type="number" domain={["dataMin", "dataMax"]} tickFormatter={xInWords} />
                  <YAxis
                    width={56}
                    scale={scale === "log" ? "log" : "auto"}
                    domain={["auto", "auto"]}
                    tickFormatter={tickInDigits}
                  />
                  <Tooltip
                    contentStyle={{ background: "var(--panel)", borderColor: "var(--line)" }}
                    itemStyle={{ color: "inherit" }}

                    labelFormatter={(x) => xInWords(Number(x))}
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
                  <Brush
                    dataKey="x"
                    height={18}
                    stroke="var(--soft)"
                    fill="var(--raised)"
                    tickFormatter={xInWords}
                  />
                </LineChart>
              </ResponsiveContainer>
            </figure>
          );
        })}
      </div>
    </>
  );
}
