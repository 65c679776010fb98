import { type ReactNode, useState } from "react";
import { clock } from "./clock.ts";
import { Swatch } from "./colours.tsx";
import { acrossOf, type Axis, type Curve, inDigits, type Point, pointAt } from "./curve.ts";
import { type Drawing, Plot, type Range } from "./plot.tsx";

interface ChartProps {
  /** Name of the metric. */
  readonly name: string;
  readonly curves: readonly Curve[];
  readonly drawing: Drawing;
  readonly range: Range | null;
  readonly onRange: (range: Range | null) => void;
  readonly chosen?: string | undefined;
  /** Content that belongs to the chart, shown below it. */
  readonly children?: ReactNode;
}

const inWords = (across: number, axis: Axis) =>
  axis === "time" ? clock(across) : `step ${Math.round(across)}`;

/**
 * One metric as curves, with the value of each at the pointer, else its last one. The slider below replaces the pointer for keyboards,
 * fingers and screen readers.
 */
export function Chart({ name, curves, drawing, range, onRange, chosen, children }: ChartProps) {
  const [across, setAcross] = useState<number | null>(null);
  const { axis } = drawing;
  const places = [
    ...new Set(curves.flatMap(({ points }) => points.map((point) => acrossOf(point, axis)))),
  ].toSorted((a, b) => a - b);
  const last = places.length - 1;
  if (last < 0) return null;

  const read = curves.flatMap((curve) => {
    const point = pointAt(curve.points, across ?? Infinity, axis);
    return point ? [{ ...curve, point }] : [];
  });
  const at =
    across === null
      ? last
      : Math.max(
          0,
          places.findLastIndex((place) => place <= across),
        );
  const worded = ({ point }: { point: Point }) =>
    `${inDigits(point.value)} at ${inWords(acrossOf(point, axis), axis)}`;
  const only = read.length === 1 ? read[0] : undefined;
  return (
    <figure className="chart">
      <figcaption>
        <strong>{name}</strong>
        <span>{only ? worded(only) : across === null ? "last values" : inWords(across, axis)}</span>
      </figcaption>
      <Plot
        label={`${name} over ${axis === "time" ? "time" : "steps"}`}
        curves={curves}
        drawing={drawing}
        range={range}
        across={across}
        chosen={chosen}
        onRange={onRange}
        onRead={setAcross}
      />
      <input
        type="range"
        min="0"
        max={last}
        value={at}
        aria-label={`Value of ${name}`}
        aria-valuetext={read.map((each) => `${only ? "" : `${each.name} `}${worded(each)}`).join(", ")}
        onChange={({ currentTarget }) => setAcross(places[currentTarget.valueAsNumber] ?? null)}
        onBlur={() => setAcross(null)}
      />
      {drawing.isLog && <NotShown curves={curves} />}
      {!only && <Readings of={read} chosen={chosen} />}
      {children}
    </figure>
  );
}

/** How many values have no place on a logarithmic scale. */
function NotShown({ curves }: { curves: readonly Curve[] }) {
  const count = curves.flatMap(({ points }) =>
    points.filter(({ value }) => value !== null && value <= 0),
  ).length;
  if (count === 0) return null;
  return (
    <p className="hint">
      {count} {count === 1 ? "value" : "values"} of 0 or less not shown.
    </p>
  );
}

/** Readings that are shown; the others stand in the table of numbers. */
const SHOWN = 8;

function Readings({
  of,
  chosen,
}: {
  of: readonly (Curve & { readonly point: Point })[];
  chosen: string | undefined;
}) {
  const shown = of.filter(({ name }, at) => at < SHOWN || name === chosen);
  return (
    <ul className="readings">
      {shown.map(({ name, place, point }) => (
        <li key={name} data-chosen={name === chosen || undefined}>
          <Swatch place={place} /> {name} <strong>{inDigits(point.value)}</strong>
        </li>
      ))}
      {of.length > shown.length && <li>and {of.length - shown.length} more</li>}
    </ul>
  );
}
