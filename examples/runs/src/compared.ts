import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const comparedFragment = graphql(`
  fragment Compared on ComparedValues {
    name
    differs
    values
  }
`);

/** The rows of a comparison, with the values of the runs that could be read. */
export const comparedOf = (
  rows: readonly FragmentType<typeof comparedFragment>[],
  runs: readonly (object | null)[],
) =>
  readFragment(comparedFragment, rows).map((row) => ({
    ...row,
    values: row.values.filter((_value, at) => runs[at] !== null),
  }));

/** The runs of a comparison that could be read. */
export const thereOf = <Run>(runs: readonly (Run | null)[]): readonly Run[] =>
  runs.flatMap((run) => run ?? []);
