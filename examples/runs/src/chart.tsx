import { clock } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const chartFragment = graphql(`
  fragment Chart on MetricSeries {
    name
    times
    values
  }
`);

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 520, 8, 124];

/** Spreads values over a stretch of the picture, the smallest at its start. */
function spread(values: readonly number[], start: number, end: number) {
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const place = (value: number) => start + ((end - start) * (value - min)) / (max - min || 1);
  return { min, max, places: values.map((value) => place(value).toFixed(1)) };
}

/** One metric over the time since its first value. */
export function Chart({ series }: { series: FragmentType<typeof chartFragment> }) {
  const { name, times, values } = readFragment(chartFragment, series);
  const points = values.flatMap((value, at) => {
    const time = times[at];
    return value === null || !time ? [] : [[Date.parse(time) / 1000, value] as const];
  });
  if (points.length === 0) return null;

  const seconds = points.map(([second]) => second);
  const numbers = points.map(([, value]) => value);
  const [x, y] = [spread(seconds, LEFT, RIGHT), spread(numbers, BOTTOM, TOP)];
  const label = (text: string, left: number, top: number) => (
    <text x={left} y={top} textAnchor={left === LEFT ? "start" : "end"}>
      {text}
    </text>
  );
  return (
    <figure>
      <figcaption>{name}</figcaption>
      <svg viewBox="0 0 520 144" role="img" aria-label={`${name} over time`}>
        <path d={`M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}`} />
        <polyline points={points.map((_, at) => `${x.places[at]},${y.places[at]}`).join(" ")} />
        {label(y.max.toPrecision(3), LEFT - 8, TOP + 4)}
        {label(y.min.toPrecision(3), LEFT - 8, BOTTOM)}
        {label("0:00", LEFT, BOTTOM + 18)}
        {label(clock(x.max - x.min), RIGHT, BOTTOM + 18)}
      </svg>
    </figure>
  );
}
