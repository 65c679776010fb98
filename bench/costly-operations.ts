import fc from "fast-check";
import fieldTable from "./costly-fields.json" with { type: "json" };
import { globalId } from "../test/support/ids.ts";

/** An operation with what it is sent with. */
export interface Sent {
  readonly query: string;
  readonly variables: object;
}

const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(" ");

const IDS = ["Experiment:ada/mnist/42", "Group:ada/mnist/1", "BuildJob:ada/mnist/1", "Job:ada/mnist/2"].map(
  globalId,
);

/** Root fields, and fields that make much of little, by the type that they are selected on; `BELOW` stands for what is selected below. */
// Safe: each is a pair there.
const { roots: ROOTS, fields: COSTLY } = fieldTable as unknown as {
  readonly roots: readonly (readonly [field: string, type: string])[];
  readonly fields: Readonly<Record<string, readonly (readonly [field: string, type: string | null])[]>>;
};

/** A selection on a type; `spread` names the fragments that may stand in it, by their types. */
function selection(type: string, depth: number, spread: readonly string[]): fc.Arbitrary<string> {
  const fields = COSTLY[type] ?? [];
  const chosen = fc
    .tuple(fc.constantFrom(...fields.entries()), fc.integer({ min: 1, max: 6 }))
    .chain(([[place, [field, below]], repeats]) => {
      const inner = below && depth > 0 ? selection(below, depth - 1, spread) : fc.constant("{ id }");
      return fc.tuple(inner, fc.nat()).map(([set, salt]) =>
        times(below ? Math.min(2, repeats) : repeats, (index) => {
          const text = field.replaceAll("BELOW", set);
          // Several fields in one line are left without an alias; one alias never stands for different fields.
          const isOne = /^\w+(?:\([^)]*\))? (?:\{|BELOW)/.test(field);
          return isOne ? `a${place}_${salt}_${index}: ${text}` : text;
        }),
      );
    });
  const spreads = spread.filter((name) => name.endsWith(type)).map((name) => `...${name}`);
  const part = spreads.length > 0 ? fc.oneof(chosen, fc.constantFrom(...spreads)) : chosen;
  return fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => `{ __typename ${parts.join(" ")} }`);
}

const FRAGMENTS = ["F0Project", "F1Experiment", "F2Group", "F3Project", "F4Experiment", "F5Group"];

const fragment = (name: string, index: number): fc.Arbitrary<string> =>
  // Each spreads those behind it: there are no cycles.
  selection(name.slice(2), 1, FRAGMENTS.slice(index + 1)).map(
    (set) => `fragment ${name} on ${name.slice(2)} ${set}`,
  );

/** Random operations that ask for as much as they can, with lists of random length. */
export const costlyOperation: fc.Arbitrary<Sent> = fc
  .record({
    roots: fc.array(
      fc
        .constantFrom(...ROOTS)
        .chain(([field, type]) =>
          selection(type, 2, FRAGMENTS).map((set) => `${field} { ... on ${type} ${set} }`),
        ),
      { minLength: 1, maxLength: 6 },
    ),
    fragments: fc.tuple(...FRAGMENTS.map(fragment)),
    ids: fc.array(fc.constantFrom(...IDS), { maxLength: 100 }),
    things: fc.nat(1_000),
  })
  .map(({ roots, fragments, ids, things }) => ({
    query: withFragments(
      `query ($ids: [ID!]!, $things: [_Any!]!) {
        ${roots.map((root, index) => `r${index}: ${root}`).join(" ")}
        entities(ids: $ids) { id } _entities(representations: $things) { __typename }
      }`,
      fragments,
    ),
    variables: {
      ids,
      things: Array.from({ length: things }, () => ({ __typename: "Project", uniqueName: "ada.mnist" })),
    },
  }));

/** The operation with the fragments that it spreads, and that those spread: unused ones are not valid. */
const withFragments = (operation: string, fragments: readonly string[]): string =>
  fragments.reduce(
    (document, text, index) =>
      document.includes(`...${FRAGMENTS[index]}`) ? `${document} ${text}` : document,
    operation,
  );
