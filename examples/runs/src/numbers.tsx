import { inDigits } from "./curve.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const numbersFragment = graphql(`
  fragment Numbers on MetricSummary {
    count
    mean
    first {
      value
    }
    last {
      value
    }
    min {
      value
      step
    }
    max {
      value
      step
    }
  }
`);

interface NumbersProps {
  readonly metric: string;
  readonly rows: readonly {
    /** Name of the run. */
    readonly name: string;
    readonly of: FragmentType<typeof numbersFragment> | undefined;
  }[];
}

const extreme = (point: { readonly value: number; readonly step: number } | null | undefined) =>
  point ? `${inDigits(point.value)} at ${point.step}` : "–";

/** The values of a chart as numbers: over all values, including those that downsampling leaves out of the curves. */
export function Numbers({ metric, rows }: NumbersProps) {
  return (
    <details className="numbers">
      <summary>Numbers of {metric}</summary>
      <div className="scroll" tabIndex={0} role="group" aria-label={`Numbers of ${metric}`}>
        <table>
          <thead>
            <tr>
              {["run", "values", "first", "last", "mean", "smallest, at step", "largest, at step"].map(
                (title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, of }) => {
              const summary = readFragment(numbersFragment, of);
              return (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>{summary?.count ?? "–"}</td>
                  <td>{inDigits(summary?.first?.value)}</td>
                  <td>{inDigits(summary?.last?.value)}</td>
                  <td>{inDigits(summary?.mean)}</td>
                  <td>{extreme(summary?.min)}</td>
                  <td>{extreme(summary?.max)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
