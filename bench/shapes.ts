import fc from "fast-check";

/** The shape of a record, and how much of it is selected. */
export interface Shape {
  readonly form: (typeof FORMS)[number];
  readonly naming: keyof typeof NAMINGS;
  /** Number of records in a list, and of values in all its records together. */
  readonly rows: number;
  readonly values: number;
  /** Number of objects nested around the values. */
  readonly levels: number;
  /** Whether all records have the same names. */
  readonly isAlike: boolean;
  /** Number of selected names, whether they exist or not. */
  readonly selected: number;
  readonly areKnown: boolean;
  readonly aliases: number;
}

const FORMS = ["numbers", "texts", "one text", "objects", "lists", "one list", "objects of one key"] as const;

const NAMINGS = {
  short: (index: number) => `p${index.toString(36)}`,
  long: (index: number) => `${index}`.padEnd(180, "n"),
  index: (index: number) => `${index}`,
  large: (index: number) => `${4_000_000_000 + 7 * index}`,
  dotted: (index: number) => `${index % 7}.${index % 11}.p${index}`,
  dots: (index: number) => `${".".repeat(index % 250)}${index}`,
};

/** An integer from 1 to `most`, of any order of magnitude. */
const upTo = (most: number) =>
  fc.double({ min: 0, max: Math.log10(most), noNaN: true }).map((power) => Math.round(10 ** power));

export const shape: fc.Arbitrary<Shape> = fc.record({
  form: fc.constantFrom(...FORMS),
  // Safe: these are the keys of the table.
  naming: fc.constantFrom(...(Object.keys(NAMINGS) as (keyof typeof NAMINGS)[])),
  rows: upTo(500),
  values: upTo(200_000),
  levels: fc.oneof(fc.constant(0), upTo(190)),
  isAlike: fc.boolean(),
  selected: upTo(30_000),
  areKnown: fc.boolean(),
  aliases: upTo(200),
});

export const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);

function valueOf(form: Shape["form"], index: number, count: number): unknown {
  if (form === "texts") return `text ${index}`;
  if (form === "one text") return "ab \ufdfa".repeat(count);
  if (form === "objects") return { a: index, b: [index] };
  if (form === "lists") return [index, [index]];
  if (form === "one list") return indexes(count).map((each) => [each]);
  return index;
}

/** The values of a record by name. The forms `one text` and `one list` have a single large value. */
export function valuesIn({ form, naming, rows, values, levels, isAlike }: Shape, row: number): object {
  const count = Math.ceil(values / rows);
  const isOne = form === "one text" || form === "one list";
  const nameOf = (index: number) => NAMINGS[naming](isAlike ? index : index + row * count);
  const inner = Object.fromEntries(
    indexes(isOne ? 1 : count).map((index) => {
      const value = valueOf(form, index, count);
      return [nameOf(index), form === "objects of one key" ? { [nameOf(index)]: value } : value];
    }),
  );
  return indexes(levels).reduce<object>((below, level) => ({ [`k${level % 3}`]: below }), inner);
}

export const tagsIn = ({ naming, rows, values, isAlike }: Shape, row: number): string[] =>
  indexes(Math.ceil(values / rows)).map((index) => NAMINGS[naming](isAlike ? index : index + row * values));

export const namesIn = ({ naming, selected, areKnown }: Shape): string[] => {
  const names: string[] = [];
  // Keeps the request below MAX_BODY_BYTES.
  for (let [index, left] = [0, 200_000]; index < selected && left > 0; index++) {
    const name = NAMINGS[naming](index) + (areKnown ? "" : ".none");
    names.push(name);
    left -= name.length + 3;
  }
  return names;
};
