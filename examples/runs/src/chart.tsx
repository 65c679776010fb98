import { type PointerEvent, useState } from "react";
import { clock } from "./clock.ts";

/** A value of a metric and when it was recorded. */
export interface Point {
  readonly second: number;
  readonly value: number;
}

interface ChartProps {
  readonly name: string;
  readonly points: readonly Point[];
  /** Whether points can still be added. */
  readonly isLive: boolean;
}

/** Places values between 0 and 100, the smallest at 0. */
function scaleOf(values: readonly number[]) {
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { min, max, place: (value: number) => (100 * (value - min)) / (max - min || 1) };
}

/** One metric over the time since its first value, and the value under the pointer, else the last one. */
export function Chart({ name, points, isLive }: ChartProps) {
  const [read, setRead] = useState<number>();
  const last = points.length - 1;
  const shown = points[read ?? last];
  if (!shown) return null;

  const x = scaleOf(points.map(({ second }) => second));
  const y = scaleOf(points.map(({ value }) => value));
  const across = ({ second }: Point) => x.place(second);
  const down = ({ value }: Point) => 100 - y.place(value);
  const line = points.map((point) => `${across(point).toFixed(2)},${down(point).toFixed(2)}`).join(" ");
  const reading = `${shown.value.toPrecision(4)} at ${clock(shown.second - x.min)}`;

  function follow({ clientX, currentTarget }: PointerEvent) {
    const { left, width } = currentTarget.getBoundingClientRect();
    const distances = points.map((point) => Math.abs(across(point) - (100 * (clientX - left)) / width));
    setRead(distances.indexOf(Math.min(...distances)));
  }

  return (
    <figure className="chart">
      <figcaption>
        <strong>{name}</strong>
        <span>{reading}</span>
      </figcaption>
      <div className="plot">
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={`${name} over time`}>
          <polygon points={`0,100 ${line} 100,100`} />
          <polyline points={line} />
        </svg>
        <span
          className={isLive && read === undefined ? "dot live" : "dot"}
          style={{ left: `${across(shown)}%`, top: `${down(shown)}%` }}
        />
        {/* Over the picture and invisible: it reads the values by pointer, touch and arrow keys. */}
        <input
          type="range"
          min="0"
          max={last}
          value={read ?? last}
          aria-label={`Value of ${name}`}
          aria-valuetext={reading}
          onChange={({ currentTarget }) => setRead(currentTarget.valueAsNumber)}
          onPointerMove={follow}
          onPointerLeave={() => setRead(undefined)}
          onBlur={() => setRead(undefined)}
        />
        <span className="max">{y.max.toPrecision(3)}</span>
        <span className="min">{y.min.toPrecision(3)}</span>
      </div>
      <div className="axis">
        <span>0:00</span>
        <span>{clock(x.max - x.min)}</span>
      </div>
    </figure>
  );
}
