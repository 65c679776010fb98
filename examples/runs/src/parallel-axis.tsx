import { type KeyboardEvent, type PointerEvent, useEffect, useRef } from "react";
import type { Range } from "./plot.tsx";
import type { Scale } from "./scale.ts";

export const WHOLE: Range = [0, 1];

/** Pixels that a pointer moves when it draws a range and does not click. */
const DRAG = 4;

interface AxisProps {
  readonly name: string;
  readonly scale: Scale;
  readonly x: number;
  readonly top: number;
  readonly height: number;
  /** Whether runs without a value stand below the axis. */
  readonly hasNone: boolean;
  /** Range of the values that are kept, from and to. */
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

/** As much of a text as there is room for between two axes. */
const shortened = (text: string) => (text.length > 14 ? `${text.slice(0, 13)}…` : text);

function placeOf({ clientY, currentTarget }: PointerEvent<SVGElement>) {
  const { top, height } = currentTarget.getBoundingClientRect();
  return Math.min(1, Math.max(0, 1 - (clientY - top) / height));
}

/** An axis with a range that filters: drawn by a drag along it, or set by the keys at its two ends. */
export function ParallelAxis({ name, scale, x, top, height, hasNone, range, onRange }: AxisProps) {
  const start = useRef<{ readonly place: number; readonly y: number } | null>(null);
  const yOf = (place: number) => top + (1 - place) * height;
  const isWhole = range[0] === 0 && range[1] === 1;
  const brush = useRef<SVGRectElement>(null);

  // Drawing with a finger must not scroll. `touch-action` has no effect on elements inside an SVG.
  useEffect(() => {
    const keepPage = (event: TouchEvent) => event.preventDefault();
    const rect = brush.current;
    rect?.addEventListener("touchstart", keepPage, { passive: false });
    return () => rect?.removeEventListener("touchstart", keepPage);
  }, []);

  function begin(event: PointerEvent<SVGElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    start.current = { place: placeOf(event), y: event.clientY };
  }
  function draw(event: PointerEvent<SVGElement>) {
    const from = start.current;
    if (!from || Math.abs(event.clientY - from.y) < DRAG) return;
    const place = placeOf(event);
    onRange([Math.min(from.place, place), Math.max(from.place, place)]);
  }
  function end(event: PointerEvent<SVGElement>) {
    const from = start.current;
    start.current = null;
    if (from && Math.abs(event.clientY - from.y) < DRAG) onRange(WHOLE);
  }

  return (
    <g className="axis">
      <text className="name" x={Math.max(x, 50)} y={top - 18} textAnchor="middle">
        {shortened(name)}
        <title>{name}</title>
      </text>
      <line x1={x} x2={x} y1={top} y2={top + height} />
      {scale.ticks.map(({ place, word }) => (
        <text key={word} x={x + 8} y={yOf(place) + 4}>
          {shortened(word)}
        </text>
      ))}
      {hasNone && (
        <text x={x + 8} y={top + height + 28}>
          none
        </text>
      )}
      <rect
        className="range"
        data-whole={isWhole || undefined}
        x={x - 5}
        width={10}
        y={yOf(range[1])}
        height={Math.max(2, (range[1] - range[0]) * height)}
      />
      <rect
        ref={brush}
        className="brush"
        data-axis={name}
        x={x - 20}
        width={40}
        y={top}
        height={height}
        onPointerDown={begin}
        onPointerMove={draw}
        onPointerUp={end}
        onPointerCancel={end}
      />
      <End side={1} {...{ name, scale, x, range, onRange }} y={yOf(range[1])} />
      <End side={0} {...{ name, scale, x, range, onRange }} y={yOf(range[0])} />
    </g>
  );
}

interface EndProps extends Pick<AxisProps, "name" | "scale" | "x" | "range" | "onRange"> {
  /** 0: the lower end of the range, 1: its upper one. */
  readonly side: 0 | 1;
  readonly y: number;
}

/** One end of the range, moved by the arrow keys. */
function End({ side, name, scale, x, y, range: [low, high], onRange }: EndProps) {
  const place = side ? high : low;
  function move(event: KeyboardEvent) {
    const to = {
      ArrowUp: place + scale.step,
      ArrowRight: place + scale.step,
      ArrowDown: place - scale.step,
      ArrowLeft: place - scale.step,
      Home: 0,
      End: 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    // Sums of steps miss the ends by a hair.
    const next = Math.round(1e6 * Math.min(1, Math.max(0, to))) / 1e6;
    onRange(side ? [Math.min(low, next), next] : [next, Math.max(high, next)]);
  }
  return (
    <path
      className="end"
      d={`M${x - 7} ${y}h14l-7 ${side ? -9 : 9}z`}
      role="slider"
      tabIndex={0}
      aria-label={`${name}, ${side ? "at most" : "at least"}`}
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(place * 100)}
      aria-valuetext={scale.wordAt(place)}
      onKeyDown={move}
    />
  );
}
