import { InputError } from "../../errors.ts";

/** Bounds of a number, each by its name in filters: whether a value is within it. */
export const BOUNDS = {
  greaterThan: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  lessThan: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
};

// Safe: these are the keys of the table.
export const BOUND_NAMES = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];

type Bounds = { readonly [Name in keyof typeof BOUNDS]?: number | null | undefined };

/** Throws `InputError` for bounds that no number meets. */
export function checkBounds(argument: string, bounds: Bounds): void {
  for (const name of BOUND_NAMES) {
    const { [name]: bound } = bounds;
    if (bound != null && !Number.isFinite(bound))
      throw new InputError(`${argument}.${name}: expected a finite number, got ${bound}`);
  }
  const { greaterThan, atLeast, lessThan, atMost } = bounds;
  const lower = Math.max(greaterThan ?? -Infinity, atLeast ?? -Infinity);
  const upper = Math.min(lessThan ?? Infinity, atMost ?? Infinity);
  const isOpen = greaterThan === lower || lessThan === upper;
  if (lower > upper || (lower === upper && isOpen))
    throw new InputError(`${argument}: expected bounds that a number can meet, got ${lower} to ${upper}`);
}
