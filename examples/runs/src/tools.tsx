import { type Address, replaceAddress } from "./address.ts";
import { Button } from "./button.tsx";
import { acrossOf, type Axis, type Curve } from "./curve.ts";
import type { Drawing, Range } from "./plot.tsx";

/** How the address says that curves are drawn; where it does not, over the usual axis. */
export const drawingOf = ({ axis, scale, smooth }: Address, usual: Axis): Drawing => ({
  axis: axis === "time" || axis === "step" ? axis : usual,
  isLog: scale === "log",
  smoothing: Math.min(0.99, Math.max(0, Number(smooth) || 0)),
});

/** The address that says how curves are drawn. */
const drawn = (address: Address, { axis, isLog, smoothing }: Drawing, usual: Axis): Address => ({
  ...address,
  axis: axis === usual ? undefined : axis,
  scale: isLog ? "log" : undefined,
  smooth: smoothing ? String(smoothing) : undefined,
});

/** From the first to the last point of all curves. Null if there is none. */
function rangeOf(curves: readonly Curve[], axis: Axis): Range | null {
  const places = curves.flatMap(({ points }) => points.map((point) => acrossOf(point, axis)));
  return places.length > 0 ? [Math.min(...places), Math.max(...places)] : null;
}

/** Half or double of what is shown, around its middle and within all there is. Null: all of it. */
function zoom([from, to]: Range, all: Range, factor: number): Range | null {
  const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
  const next: Range = [Math.max(all[0], middle - half), Math.min(all[1], middle + half)];
  return next[0] === all[0] && next[1] === all[1] ? null : next;
}

/** Half of what is shown further on (1) or back (-1), no further than there is something. */
function pan([from, to]: Range, all: Range, direction: 1 | -1): Range {
  const size = to - from;
  const start = Math.max(all[0], Math.min(all[1] - size, from + (direction * size) / 2));
  return [start, start + size];
}

interface ToolsProps {
  readonly of: readonly Curve[];
  readonly address: Address;
  /** The axis that the address does not name. */
  readonly usual: Axis;
  readonly range: Range | null;
  readonly onRange: (range: Range | null) => void;
}

/** How curves are drawn, and what of them is shown. */
export function Tools({ of, address, usual, range, onRange }: ToolsProps) {
  const drawing = drawingOf(address, usual);
  const { axis, isLog, smoothing } = drawing;
  const all = rangeOf(of, axis);
  const onDrawing = (changed: Drawing): void => {
    if (changed.axis !== axis) onRange(null);
    replaceAddress(drawn(address, changed, usual));
  };
  const zoomBy = (factor: number) => all && onRange(zoom(range ?? all, all, factor));
  const panBy = (direction: 1 | -1) => all && range && onRange(pan(range, all, direction));
  return (
    <div className="tools">
      <label>
        Over
        <select
          value={axis}
          onChange={({ currentTarget }) =>
            onDrawing({ ...drawing, axis: currentTarget.value === "time" ? "time" : "step" })
          }
        >
          <option value="step">steps</option>
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
          value={smoothing}
          aria-valuetext={smoothing ? String(smoothing) : "none"}
          onChange={({ currentTarget }) => onDrawing({ ...drawing, smoothing: currentTarget.valueAsNumber })}
        />
        <span aria-hidden="true">{smoothing.toFixed(2)}</span>
      </label>
      <label>
        <input type="checkbox" checked={isLog} onChange={() => onDrawing({ ...drawing, isLog: !isLog })} />
        log scale
      </label>
      <div className="zoom" role="group" aria-label="Zoom">
        <button aria-label="Zoom in" onClick={() => zoomBy(0.5)}>
          +
        </button>
        <Button aria-label="Zoom out" isOff={!range} onClick={() => zoomBy(2)}>
          −
        </Button>
        <Button aria-label="Back" isOff={!range} onClick={() => panBy(-1)}>
          ‹
        </Button>
        <Button aria-label="Further on" isOff={!range} onClick={() => panBy(1)}>
          ›
        </Button>
        <Button isOff={!range} onClick={() => onRange(null)}>
          Reset zoom
        </Button>
      </div>
    </div>
  );
}
