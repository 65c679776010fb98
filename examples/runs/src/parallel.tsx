import { useRef, useState } from "react";
import { type Address, hrefOf, projectOf, replaceAddress } from "./address.ts";
import { compareHref } from "./compare-href.ts";
import { comparedOf, thereOf } from "./compared.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { ParallelAxis, WHOLE } from "./parallel-axis.tsx";
import type { Range } from "./plot.tsx";
import { type Scale, scaleOf } from "./scale.ts";
import { useWidthOf } from "./width.ts";

const parallelFragment = graphql(`
  fragment Parallel on ExperimentComparison {
    experiments {
      id
      uniqueName
    }
    parameters {
      ...Compared
    }
    metrics {
      ...Compared
    }
  }
`);

interface ParallelProps {
  readonly of: FragmentType<typeof parallelFragment>;
  readonly address: Address;
}

interface Placed {
  readonly name: string;
  readonly scale: Scale;
  /** Of each run, from 0 to 1. Null if it has no value. */
  readonly places: readonly (number | null)[];
}

function placed({ name, values }: { readonly name: string; readonly values: readonly unknown[] }): Placed {
  const scale = scaleOf(values);
  return { name, scale, places: values.map(scale.placeOf) };
}

const [TOP, HEIGHT, SIDE, LEAST_GAP] = [44, 240, 40, 104];

/** Runs as lines through their parameters to a metric: what of them leads to good values is seen at a glance. */
export function Parallel({ of, address }: ParallelProps) {
  const { experiments: all, parameters, metrics } = readFragment(parallelFragment, of);
  const runs = thereOf(all);
  const [ranges, setRanges] = useState<ReadonlyMap<string, Range>>(new Map());
  const [chosen, setChosen] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidthOf(box);

  const measured = comparedOf(metrics, all);
  const metric = measured.find(({ name }) => name === address.metric) ?? measured[0];
  const varied = comparedOf(parameters, all).filter(({ differs }) => differs);
  if (!metric || varied.length === 0 || runs.length < 2) return null;

  const axes = [...varied, metric].map(placed);
  const colours = placed(metric).places;
  const gap = Math.max(LEAST_GAP, (width - 2 * SIDE - 40) / (axes.length - 1));
  const xOf = (at: number) => SIDE + at * gap;
  const yOf = (place: number | null) => (place === null ? TOP + HEIGHT + 24 : TOP + (1 - place) * HEIGHT);
  const rangeOf = (name: string) => ranges.get(name) ?? WHOLE;
  const isKept = (run: number) =>
    axes.every(({ name, places }) => {
      const [low, high] = rangeOf(name);
      const place = places[run] ?? null;
      return (low === 0 && high === 1) || (place !== null && place >= low - 1e-9 && place <= high + 1e-9);
    });
  const lines = runs.map(({ uniqueName: name }, run) => ({
    name,
    isKept: isKept(run),
    path: axes.map(({ places }, at) => `${at ? "L" : "M"}${xOf(at)} ${yOf(places[run] ?? null)}`).join(""),
    colour: colours[run] ?? null,
  }));
  const kept = lines.filter((line) => line.isKept);
  const isFiltered = kept.length < lines.length;
  return (
    <section className="panel" aria-labelledby="parallel">
      <div className="heading">
        <h3 id="parallel">Parameters and {metric.name}</h3>
        <label className="check">
          Metric
          <select
            value={metric.name}
            onChange={({ currentTarget }) => replaceAddress({ ...address, metric: currentTarget.value })}
          >
            {measured.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <p className="hint">
        A line a run, coloured by its {metric.name}. Drag along an axis to keep a part of the runs, click to
        keep all.
      </p>
      <div className="scroll" ref={box}>
        <svg
          className="parallel"
          width={xOf(axes.length - 1) + SIDE + 40}
          height={TOP + HEIGHT + 40}
          role="group"
          aria-label={`Parameters and ${metric.name} of ${runs.length} runs`}
        >
          {lines
            .toSorted((a, b) => Number(a.isKept) - Number(b.isKept))
            .map(({ name, path, colour, isKept: isShown }) => (
              <path
                key={name}
                className="run-line"
                d={path}
                data-run={name}
                data-kept={isShown}
                data-chosen={name === chosen || undefined}
                style={isShown && colour !== null ? { stroke: mixOf(colour) } : {}}
                onPointerEnter={() => setChosen(name)}
                onPointerLeave={() => setChosen(undefined)}
              >
                <title>{name}</title>
              </path>
            ))}
          {axes.map(({ name, scale, places }, at) => (
            <ParallelAxis
              key={`${name} ${at}`}
              name={name}
              scale={scale}
              x={xOf(at)}
              top={TOP}
              height={HEIGHT}
              hasNone={places.includes(null)}
              range={rangeOf(name)}
              onRange={(range) => setRanges(new Map(ranges).set(name, range))}
            />
          ))}
        </svg>
      </div>
      <div className="kept">
        <p role="status">
          {isFiltered ? `${kept.length} of ${lines.length} runs` : `All ${lines.length} runs`}
        </p>
        {isFiltered && (
          <>
            {kept.map(({ name }) => (
              <a
                key={name}
                href={hrefOf({ list: projectOf(name), run: name })}
                data-chosen={name === chosen || undefined}
                onPointerEnter={() => setChosen(name)}
                onPointerLeave={() => setChosen(undefined)}
                onFocus={() => setChosen(name)}
                onBlur={() => setChosen(undefined)}
              >
                {name}
              </a>
            ))}
            <button onClick={() => setRanges(new Map())}>Keep all</button>
            {kept.length > 1 && (
              <a
                className="button"
                href={compareHref(
                  kept.map(({ name }) => name),
                  address,
                )}
              >
                Compare only these
              </a>
            )}
          </>
        )}
      </div>
    </section>
  );
}

/** From blue, the smallest, to orange: told apart with any colour vision. */
const mixOf = (place: number) =>
  `color-mix(in oklab, var(--large) ${Math.round(place * 100)}%, var(--small))`;
