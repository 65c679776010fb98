/** Names of choices, each with its values. */
type Choices = Readonly<Record<string, readonly string[]>>;
type Row<C extends Choices> = { readonly [Name in keyof C]: C[Name][number] };

/** Every combination that makes sense. */
export function productOf<const C extends Choices>(
  choices: C,
  makesSense: (row: Row<C>) => boolean = () => true,
): Row<C>[] {
  let rows: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(choices))
    rows = rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value })));
  // Each row has a value of each choice now.
  return (rows as Row<C>[]).filter(makesSense);
}

/** Every two values of a row, named. */
function pairsOf(row: object): string[] {
  const values = Object.entries(row).map((entry) => entry.join("="));
  return values.flatMap((one, index) => values.slice(index + 1).map((other) => `${one} ${other}`));
}

/**
 * Few of the rows in which all pairs of values occur that occur in any: what goes wrong by two values meeting goes
 * wrong in one of them. `joint` gives further values of a row, such as two that meet each third one together. Greedy,
 * and the same in every run. Own code: a package for twenty lines of a test.
 */
export function coveringRows<R extends object>(
  all: readonly R[],
  joint: (row: R) => Readonly<Record<string, string>> = () => ({}),
): R[] {
  let candidates = all.map((row) => ({ row, pairs: pairsOf({ ...row, ...joint(row) }) }));
  const missing = new Set(candidates.flatMap(({ pairs }) => pairs));
  const rows: R[] = [];
  while (missing.size > 0) {
    const gains = candidates.map(({ pairs }) => pairs.filter((pair) => missing.has(pair)).length);
    const best = candidates[gains.indexOf(Math.max(...gains))];
    if (!best) break;
    rows.push(best.row);
    for (const pair of best.pairs) missing.delete(pair);
    candidates = candidates.filter(({ pairs }) => pairs.some((pair) => missing.has(pair)));
  }
  return rows;
}
