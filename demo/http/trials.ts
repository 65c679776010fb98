import type { Declarations, Search } from "../store.ts";
import { isFields } from "./messages.ts";
import { declarationsOf, sectionOf, type Specification } from "./specification.ts";

/** Maximum number of experiments of a study. */
const maxTrials = 20;

/** The settings of a study's search, and the declarations of each experiment that it creates. */
export function studyOf(
  specification: Specification,
  content: string,
): { readonly search: Search; readonly trials: readonly Declarations[] } {
  const tuning = sectionOf(specification, "hptuning");
  const isRandom = tuning["random_search"] !== undefined;
  const algorithm =
    (["hyperband", "bo"] as const).find((name) => tuning[name]) ?? (isRandom ? "random" : "grid");
  const matrix = Object.entries(sectionOf(tuning, "matrix")).map(
    ([name, parameter]) => [name, valuesOf(parameter)] as const,
  );
  const product = matrix.reduce((count, [, values]) => count * values.length, 1);
  const { n_experiments: wanted } = sectionOf(tuning, isRandom ? "random_search" : "grid_search");
  const length = Math.min(maxTrials, wholeOr(wanted, product));
  return {
    search: { algorithm, concurrency: wholeOr(tuning["concurrency"], 1), content, tuning },
    trials: Array.from({ length }, (_, trial) => ({
      ...declarationsOf(specification),
      ...combination(matrix, trial),
    })),
  };
}

const wholeOr = (value: unknown, fallback: number): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : fallback;

/** One value of each parameter. The first parameters change fastest. */
function combination(
  matrix: readonly (readonly [name: string, values: readonly unknown[]])[],
  trial: number,
): Declarations {
  let rest = trial;
  return Object.fromEntries(
    matrix.map(([name, values]) => {
      const value = values[rest % values.length];
      rest = Math.floor(rest / values.length);
      return [name, value];
    }),
  );
}

/**
 * The values of a parameter that a search tries, at least one. A distribution or a range such as `0.1:0.5` yields a few evenly spaced
 * values.
 */
function valuesOf(parameter: unknown): readonly unknown[] {
  const [[form = "", given] = []] = Object.entries(isFields(parameter) ? parameter : {});
  if (form === "values" && Array.isArray(given) && given.length > 0) return given;
  if (form === "pvalues" && Array.isArray(given) && given.length > 0)
    return given.map((pair: unknown) => (Array.isArray(pair) ? pair[0] : pair));
  const [start = 0, stop = start, last = form === "range" ? 1 : 5] = numbersIn(given);
  const isSpace = form.endsWith("space");
  const count = form === "range" ? Math.ceil((stop - start) / last) : isSpace ? last : 5;
  const length = Math.min(maxTrials, wholeOr(count, 1));
  const step = form === "range" ? last : (stop - start) / Math.max(1, length - 1);
  const points = Array.from({ length }, (_, index) => Number((start + index * step).toPrecision(6)));
  return form === "logspace" ? points.map((point) => 10 ** point) : points;
}

/** The numbers of a range: `0:1:5`, a list, or an object with `start`, `stop`, and `num` or `step`. */
function numbersIn(given: unknown): readonly number[] {
  if (typeof given === "string") return given.split(":").map(Number).filter(Number.isFinite);
  if (!isFields(given)) return Array.isArray(given) ? given.filter(Number.isFinite) : [];
  const { start, low, loc, stop, high, scale, num, step } = given;
  return [start ?? low ?? loc, stop ?? high ?? scale, num ?? step].filter(
    (value): value is number => typeof value === "number",
  );
}
