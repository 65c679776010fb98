import { type KeyboardEvent, useRef, useState } from "react";
import { type Address, hrefOf } from "./address.ts";
import { inDigits } from "./curve.ts";
import { textOf } from "./parameters.ts";
import { type Scale, scaleOf } from "./scale.ts";
import { useWidthOf } from "./width.ts";

interface ScatterProps {
  readonly metric: string;
  readonly parameter: string;
  readonly points: readonly {
    readonly name: string;
    readonly x: unknown;
    readonly y?: number | null | undefined;
  }[];
  readonly address: Address;
}

const [LEFT, RIGHT, TOP, HEIGHT, BOTTOM] = [64, 24, 16, 260, 44];

/** A point a run: a parameter across, a metric upwards. Each leads to its run; the arrow keys go from point to point. */
export function Scatter({ metric, parameter, points, address }: ScatterProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(280, useWidthOf(box)) - LEFT - RIGHT;
  const [read, setRead] = useState<string>();
  const across = scaleOf(points.map(({ x }) => x));
  const upwards = scaleOf(points.map(({ y }) => y));
  const dots = points
    .flatMap(({ name, x, y }) => {
      const [cx, cy] = [across.placeOf(x), upwards.placeOf(y)];
      if (cx === null || cy === null) return [];
      const words = `${name}: ${parameter} ${textOf(x)}, ${metric} ${inDigits(y)}`;
      return { name, words, cx: LEFT + cx * width, cy: TOP + (1 - cy) * HEIGHT };
    })
    .toSorted((one, other) => one.cx - other.cx);
  return (
    <section className="panel" aria-labelledby="scatter">
      <h3 id="scatter">
        {metric} over {parameter}
      </h3>
      <div className="scroll" ref={box}>
        <svg
          className="scatter"
          width={LEFT + width + RIGHT}
          height={TOP + HEIGHT + BOTTOM}
          role="group"
          aria-label={`${metric} over ${parameter} of ${dots.length} runs`}
          onKeyDown={walk}
        >
          {upwards.ticks.map(({ place, word }) => (
            <g key={word} transform={`translate(0 ${TOP + (1 - place) * HEIGHT})`}>
              <line x1={LEFT} x2={LEFT + width} />
              <text x={LEFT - 8} dy="0.35em" textAnchor="end">
                {word}
              </text>
            </g>
          ))}
          {apart(across.ticks, 48 / width).map(({ place, word }) => (
            <text key={word} x={LEFT + place * width} y={TOP + HEIGHT + 22} textAnchor="middle">
              {word}
            </text>
          ))}
          {dots.map(({ name, words, cx, cy }, at) => (
            <a
              key={name}
              href={hrefOf({ list: address.list, run: name })}
              tabIndex={at === 0 ? 0 : -1}
              aria-label={words}
              onPointerEnter={() => setRead(words)}
              onFocus={() => setRead(words)}
            >
              <circle cx={cx} cy={cy} r="5" />
            </a>
          ))}
        </svg>
      </div>
      <p className="hint" aria-hidden="true">
        {read ?? "A point a run."}
      </p>
    </section>
  );
}

/** Ticks whose words would stand upon each other are left out. */
const apart = (ticks: Scale["ticks"], least: number) =>
  ticks.reduce<Scale["ticks"]>(
    (kept, tick) => (tick.place - (kept.at(-1)?.place ?? -1) < least ? kept : [...kept, tick]),
    [],
  );

function walk(event: KeyboardEvent<SVGSVGElement>) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll("a")];
  const at = links.findIndex((link) => link === document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}
