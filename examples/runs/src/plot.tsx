import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import { clock } from "./clock.ts";
import { colourOf, darkMode, dashOf } from "./colours.tsx";
import { acrossOf, type Axis, type Curve, smooth, tickInDigits } from "./curve.ts";

/** The visible part of an axis, from and to. */
export type Range = readonly [number, number];

/** How curves are drawn. */
export interface Drawing {
  readonly axis: Axis;
  /** Whether the scale of the values is logarithmic: values of 0 and less are not shown then. */
  readonly isLog: boolean;
  /** Weight of the past in the moving average, 0 (none) to 0.99. */
  readonly smoothing: number;
}

interface PlotProps {
  readonly label: string;
  readonly curves: readonly Curve[];
  readonly drawing: Drawing;
  /** Null: the whole axis. */
  readonly range: Range | null;
  /** Where the values are read. */
  readonly across: number | null;
  /** The name of the curve that stands out. */
  readonly chosen?: string | undefined;
  /** Called with the range that a drag over the chart chose, or with null after a double click. */
  readonly onRange: (range: Range | null) => void;
  /** Called with the place under the pointer. Null once it left. */
  readonly onRead: (across: number | null) => void;
}

/** The table that uPlot draws: places first, then a column for each line. */
function tableOf(curves: readonly Curve[], { axis, isLog, smoothing }: Drawing): uPlot.AlignedData {
  const shown = (value: number | null) => (isLog && value !== null && value <= 0 ? null : value);
  const tables = curves.map(({ points }): uPlot.AlignedData => {
    const raw = points.map(({ value }) => shown(value));
    const lines = smoothing ? [raw, smooth(points, smoothing).map(shown)] : [raw];
    return [points.map((point) => acrossOf(point, axis)), ...lines];
  });
  return tables.length > 0 ? uPlot.join(tables) : [[]];
}

/** Seconds between ticks. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
const STEPS = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power));

/** From just below the smallest to just above the largest value, and not from decade to decade. */
const LOGARITHMIC: uPlot.Scale = {
  distr: 3,
  range: (_plot, least, most) => (least ? uPlot.rangeLog(least, most, 10, false) : [1, 10]),
};

const seriesOf = (curves: readonly Curve[], { smoothing }: Drawing): uPlot.Series[] =>
  curves.flatMap(({ place, points }) => {
    const line = {
      stroke: () => colourOf(place),
      width: 2,
      dash: dashOf(place),
      points: { show: points.length < 2 },
    };
    const raw = { ...line, stroke: () => `${colourOf(place)}48`, width: 1, dash: [] };
    return smoothing ? [raw, line] : [line];
  });

function axesOf(element: HTMLElement, { axis, isLog }: Drawing): uPlot.Axis[] {
  const style = getComputedStyle(element);
  const common = {
    stroke: () => style.color,
    grid: { stroke: () => style.borderTopColor, width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  };
  return [
    {
      ...common,
      size: 28,
      incrs: (axis === "time" ? SECONDS : STEPS).toSorted((a, b) => a - b),
      values: (_plot, places) => places.map((place) => (axis === "time" ? clock(place) : String(place))),
    },
    // A logarithmic scale chooses its ticks itself, and labels only some of them.
    {
      ...common,
      size: 54,
      values: (_plot, ticks: readonly (number | null)[]) =>
        ticks.map((tick) => (tick === null ? "" : tickInDigits(tick))),
      ...(isLog ? {} : { space: 26 }),
    },
  ];
}

/** Curves on a canvas, drawn by uPlot. `Chart` shows the same in words beside them. */
export function Plot({ label, curves, drawing, range, across, chosen, onRange, onRead }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<uPlot>(null);
  const told = useEffectEvent(onRange);
  const read = useEffectEvent(onRead);
  const seen = useEffectEvent((): Range => {
    const places = curves.flatMap(({ points }) => points.map((point) => acrossOf(point, drawing.axis)));
    const [least, most] = [Math.min(...places), Math.max(...places)];
    return range ?? [least, Math.max(most, least + 1)];
  });
  const { axis, isLog, smoothing } = drawing;
  const lines = curves.map(({ name, place, points }) => `${name} ${place} ${points.length < 2}`).join();

  const make = useEffectEvent((element: HTMLElement) => {
    const size = element.getBoundingClientRect();
    let isInside = false;
    return new uPlot(
      {
        width: size.width,
        height: size.height,
        legend: { show: false },
        padding: [10, 18, 0, 0],
        focus: { alpha: 0.2 },
        cursor: {
          y: false,
          points: { show: false },
          drag: { setScale: false },
          bind: { dblclick: () => () => (told(null), null) },
        },
        scales: { x: { time: false, range: () => [...seen()] }, y: isLog ? LOGARITHMIC : {} },
        axes: axesOf(element, drawing),
        series: [{}, ...seriesOf(curves, drawing)],
        hooks: {
          setCursor: [
            (plot) => {
              const { left = -1 } = plot.cursor;
              // uPlot also calls this when nothing moved: a reading by the slider stays.
              if (left >= 0) read(plot.posToVal(left, "x"));
              else if (isInside) read(null);
              isInside = left >= 0;
            },
          ],
          setSelect: [
            (plot) => {
              const { left, width } = plot.select;
              if (width < 4) return;
              told([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      tableOf(curves, drawing),
      element,
    );
  });

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const plot = make(element);
    made.current = plot;
    const redraw = () => plot.redraw();
    const sized = new ResizeObserver(() => {
      const { width, height } = element.getBoundingClientRect();
      plot.setSize({ width, height });
    });
    sized.observe(element);
    darkMode.addEventListener("change", redraw);
    return () => {
      made.current = null;
      sized.disconnect();
      darkMode.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [lines, axis, isLog, smoothing > 0]);

  const fill = useEffectEvent(() => made.current?.setData(tableOf(curves, drawing)));
  useEffect(() => {
    fill();
  }, [curves, axis, isLog, smoothing, range]);

  useEffect(() => {
    const at = curves.findIndex(({ name }) => name === chosen);
    made.current?.setSeries(at < 0 ? null : smoothing ? 2 * at + 2 : at + 1, { focus: true });
  }, [chosen, curves, smoothing]);

  useEffect(() => {
    const left = across === null ? -10 : (made.current?.valToPos(across, "x") ?? -10);
    made.current?.setCursor({ left, top: left < 0 ? left : 0 }, false);
  }, [across]);

  return <div className="plot" ref={box} role="img" aria-label={label} />;
}
