import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { useState } from "react";
import type { Address } from "./address.ts";
import { Chart } from "./chart.tsx";
import { Swatch } from "./colours.tsx";
import { type Curve, pointsOf } from "./curve.ts";
import type { CurvesFragment, Incremental } from "./generated/graphql.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Numbers } from "./numbers.tsx";
import type { Range } from "./plot.tsx";
import { drawingOf, Tools } from "./tools.tsx";

/** The fragment as a deferred one: what differs is shown before the curves are there. */
const curvesFragment: DocumentTypeDecoration<Incremental<CurvesFragment>, object> = graphql(`
  fragment Curves on Experiment {
    id
    uniqueName
    metricSeries(maxPoints: $maxPoints) {
      name
      steps
      times
      values
    }
    metricSummaries {
      name
      ...Numbers
    }
  }
`);

interface CurvesProps {
  readonly of: readonly FragmentType<typeof curvesFragment>[];
  /** Names of the runs, in the order of their colours. */
  readonly names: readonly string[];
  readonly address: Address;
}

/** The curves of several runs, a chart a metric, drawn as the address says. */
export function Curves({ of, names, address }: CurvesProps) {
  const runs = readFragment(curvesFragment, of);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string>();
  const [range, setRange] = useState<Range | null>(null);
  const drawing = drawingOf(address, "step");

  const series = runs.flatMap(({ metricSeries }) => metricSeries ?? []);
  const metrics = [...new Set(series.map(({ name }) => name))].toSorted();
  const curvesOf = (metric: string): Curve[] =>
    runs.flatMap(({ metricSeries }, place) => {
      const found = metricSeries?.find(({ name }) => name === metric);
      const [name = ""] = [names[place]];
      return found && !hidden.has(name) ? [{ name, place, points: pointsOf(found) }] : [];
    });
  const charts = metrics.map((metric) => ({ metric, curves: curvesOf(metric) }));
  const isRead = runs.every(({ metricSeries }) => metricSeries !== undefined);

  function toggle(name: string) {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  }
  return (
    <section className="panel curves" aria-labelledby="curves">
      <div className="heading">
        <h3 id="curves">Curves</h3>
        <Tools
          of={charts.flatMap(({ curves }) => curves)}
          address={address}
          usual="step"
          range={range}
          onRange={setRange}
        />
      </div>
      <ul className="legend" aria-label="Runs">
        {names.map((name, place) => (
          <li key={name}>
            <button
              aria-pressed={!hidden.has(name)}
              onClick={() => toggle(name)}
              onPointerEnter={() => setChosen(name)}
              onPointerLeave={() => setChosen(undefined)}
              onFocus={() => setChosen(name)}
              onBlur={() => setChosen(undefined)}
            >
              <Swatch place={place} /> {name}
            </button>
          </li>
        ))}
      </ul>
      {!isRead && <Loading what="the curves" lines={8} />}
      {isRead && metrics.length === 0 && <p className="empty">No metrics were recorded.</p>}
      <div className="charts">
        {charts.map(({ metric, curves }) => (
          <Chart
            key={metric}
            name={metric}
            curves={curves}
            drawing={drawing}
            range={range}
            onRange={setRange}
            chosen={chosen && !hidden.has(chosen) ? chosen : undefined}
          >
            <Numbers
              metric={metric}
              rows={runs.map(({ metricSummaries }, place) => ({
                name: names[place] ?? "",
                of: metricSummaries?.find(({ name }) => name === metric),
              }))}
            />
          </Chart>
        ))}
      </div>
    </section>
  );
}
