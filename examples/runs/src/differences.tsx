import { Fragment } from "react";
import { type Address, hrefOf, projectOf, replaceAddress } from "./address.ts";
import { comparedOf, thereOf } from "./compared.ts";
import { inDigits } from "./curve.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { LeaveOut } from "./leave-out.tsx";
import { directionOf, orderOf } from "./sort.ts";
import { textOf } from "./parameters.ts";
import { Status } from "./status.tsx";
import { Swatch } from "./colours.tsx";

const differencesFragment = graphql(`
  fragment Differences on ExperimentComparison {
    experiments {
      id
      uniqueName
      ...Status
    }
    parameters {
      ...Compared
    }
    metrics {
      ...Compared
    }
    origin {
      ...Compared
    }
  }
`);

interface DifferencesProps {
  readonly of: FragmentType<typeof differencesFragment>;
  readonly address: Address;
}

/** Words of the service that run together. */
const WORDS: Readonly<Record<string, string>> = {
  buildJob: "build",
  experimentGroup: "group",
  original: "cloned from",
};

/** Values side by side, a column a run. */
export function Differences({ of, address }: DifferencesProps) {
  const { experiments: all, parameters, metrics, origin } = readFragment(differencesFragment, of);
  const runs = thereOf(all);
  const names = runs.map(({ uniqueName }) => uniqueName);
  const isWhole = address.rows === "all";
  const parts = [
    { title: "Metrics, last values", rows: comparedOf(metrics, all), kind: "metric" as const },
    { title: "Parameters", rows: comparedOf(parameters, all), kind: "parameter" as const },
    { title: "Origin", rows: comparedOf(origin, all), kind: "origin" as const },
  ].map((part) => ({ ...part, shown: part.rows.filter(({ differs }) => isWhole || differs) }));
  const rows = parts.flatMap((part) => part.rows);
  const same = rows.filter(({ differs }) => !differs).length;
  return (
    <section className="panel" aria-labelledby="differences">
      <div className="heading">
        <h3 id="differences">What differs</h3>
        <label className="check">
          <input
            type="checkbox"
            checked={isWhole}
            onChange={() => replaceAddress({ ...address, rows: isWhole ? undefined : "all" })}
          />
          also what is the same ({same})
        </label>
      </div>
      <div className="scroll" tabIndex={0} role="group" aria-label="Table of what differs">
        <table className="differences">
          <thead>
            <tr>
              <td />
              {runs.map((run, place) => (
                <th key={run.id} scope="col">
                  <Swatch place={place} />
                  <a href={hrefOf({ list: projectOf(run.uniqueName), run: run.uniqueName })}>
                    {run.uniqueName}
                  </a>
                  <Status of={run} />
                  <LeaveOut name={run.uniqueName} names={names} address={address} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {parts.map(({ title, shown, kind }) => (
              <Fragment key={title}>
                <tr className="part">
                  <th scope="rowgroup" colSpan={runs.length + 1}>
                    <span>{title}</span>
                    {shown.length === 0 && <span className="hint"> – nothing differs</span>}
                  </th>
                </tr>
                {shown.map(({ name, values }) => (
                  <Row key={name} name={name} values={values} ids={names} kind={kind} />
                ))}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      <p className="hint">
        ★ marks the best value of a metric: the smallest if it is named like a loss or an error, else the
        largest.
      </p>
    </section>
  );
}

interface RowProps {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly ids: readonly string[];
  readonly kind: "metric" | "parameter" | "origin";
}

function Row({ name, values, ids, kind }: RowProps) {
  const best = kind === "metric" && ids.length > 1 ? bestOf(name, values) : undefined;
  return (
    <tr>
      <th scope="row">{WORDS[name] ?? name}</th>
      {values.map((value, at) => (
        <td key={ids[at]} className={value === best ? "best" : undefined}>
          {value === best && (
            <>
              <span aria-hidden="true">★ </span>
              <span className="visually-hidden">best: </span>
            </>
          )}
          {kind === "metric" && inDigits(typeof value === "number" ? value : null)}
          {kind === "parameter" && textOf(value)}
          {kind === "origin" && <Origin name={name} value={value} />}
        </td>
      ))}
    </tr>
  );
}

/** Addresses of the records that a run came from, by field. */
const PLACES: Readonly<Record<string, (name: string) => Address>> = {
  buildJob: (build) => ({ list: projectOf(build), build }),
  experimentGroup: (list) => ({ list }),
  original: (run) => ({ list: projectOf(run), run }),
};

function Origin({ name, value }: { name: string; value: unknown }) {
  const placeOf = PLACES[name];
  const words = textOf(value);
  return placeOf && typeof value === "string" ? <a href={hrefOf(placeOf(value))}>{words}</a> : words;
}

/** The best of the values; undefined unless at least two of them differ. */
function bestOf(metric: string, values: readonly unknown[]): number | undefined {
  const numbers = values.filter((value) => typeof value === "number");
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  if (numbers.length < 2 || least === most) return undefined;
  return directionOf(orderOf(metric)) === "ascending" ? least : most;
}
