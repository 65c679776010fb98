/** A value of a metric, and when it was recorded. */
export interface Point {
  /** Its index among all values of the metric in its run. */
  readonly step: number;
  /** Seconds since the first value. */
  readonly second: number;
  /** Null in a gap, where the value is no number. */
  readonly value: number | null;
}

/** One metric of one run. */
export interface Curve {
  /** Name of the run. */
  readonly name: string;
  /** Index in the table of colours. It stays the same when other curves are added or removed. */
  readonly place: number;
  readonly points: readonly Point[];
}

export type Axis = "step" | "time";

/** Where a point stands from left to right. */
export const acrossOf = ({ step, second }: Point, axis: Axis) => (axis === "time" ? second : step);

interface Series {
  readonly steps: readonly number[];
  readonly times: readonly (string | null)[];
  readonly values: readonly (number | null)[];
}

/** The points of a series. Points without a time are left out. */
export function pointsOf({ steps, times, values }: Series): Point[] {
  const start = times.find((time) => time !== null);
  return values.flatMap((value, at) => {
    const [step, time] = [steps[at], times[at]];
    if (step === undefined || !time || !start) return [];
    return [{ step, second: (Date.parse(time) - Date.parse(start)) / 1_000, value }];
  });
}

/**
 * The exponential moving average of the values, without the bias of its beginning, as TensorBoard draws it. `weight` is the weight of the
 * past at each step: 0 leaves the values as they are. Where downsampling left out points, the past weighs correspondingly less.
 */
export function smooth(points: readonly Point[], weight: number): (number | null)[] {
  let [average, debias, before] = [0, 0, 0];
  return points.map(({ step, value }) => {
    if (value === null) return null;
    const past = weight ** Math.max(1, step - before);
    before = step;
    average = average * past + value * (1 - past);
    debias = debias * past + 1 - past;
    return average / debias;
  });
}

/** The last point at a place or before it; the first one if there is none. */
export function pointAt(points: readonly Point[], across: number, axis: Axis): Point | undefined {
  return points.findLast((point) => acrossOf(point, axis) <= across) ?? points[0];
}

/** A value of a metric in digits, the same wherever it stands; a dash where there is none. */
export function inDigits(value: number | null | undefined): string {
  if (typeof value !== "number") return "–";
  const size = Math.abs(value);
  return size >= 1e6 || (size > 0 && size < 0.0005) ? value.toExponential(3) : value.toFixed(4);
}

/** The label of a tick on an axis of values: short, and different for any two ticks. */
export function tickInDigits(value: number): string {
  const size = Math.abs(value);
  const rounded = Number(value.toPrecision(5));
  return size >= 1e5 || (size > 0 && size < 0.001)
    ? rounded.toExponential().replace("+", "")
    : String(rounded);
}
