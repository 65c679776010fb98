import type { MattersQuery } from "./generated/graphql.ts";

/** The runs with one value of a parameter. */
export interface Group {
  readonly metrics: readonly {
    readonly count: number;
    readonly mean: number | null;
    readonly standardDeviation: number | null;
  }[];
}

type Summary = NonNullable<NonNullable<NonNullable<MattersQuery["project"]>["experiments"]>["summary"]>;

interface Ranked {
  readonly name: string;
  /** From 0, no association, to 1. A correlation can also be negative, down to -1. */
  readonly strength: number;
  readonly kind: "rank correlation" | "spread between groups";
}

/** The parameters ranked by their association with a metric. `leftOut` names the ones that cannot be ranked, with the reason. */
export function rank({ parameters, importance }: Summary, groupsOf: (name: string) => readonly Group[]) {
  const leftOut: string[] = [];
  const ranked: Ranked[] = [];
  for (const { name, distinctCount, count } of parameters ?? []) {
    const strength = importance?.find((each) => each.name === name)?.correlation ?? null;
    const spread = spreadBetween(groupsOf(name));
    if (distinctCount < 2) leftOut.push(`${name} (the same in all runs)`);
    else if (strength !== null) ranked.push({ name, strength, kind: "rank correlation" });
    else if (distinctCount === count) leftOut.push(`${name} (a different text in each run)`);
    else if (spread === null) leftOut.push(`${name} (too few runs have the metric)`);
    else ranked.push({ name, strength: spread, kind: "spread between groups" });
  }
  return { ranked: ranked.toSorted((a, b) => Math.abs(b.strength) - Math.abs(a.strength)), leftOut };
}

/**
 * The square root of ε²: the share of a metric's variance that lies between the groups, corrected for chance. It is comparable to a
 * correlation. Null unless there are two groups, and one of them has two runs.
 */
export function spreadBetween(groups: readonly Group[]): number | null {
  const of = groups.flatMap(({ metrics: [each] }) =>
    each && each.mean !== null ? [{ ...each, mean: each.mean, deviation: each.standardDeviation ?? 0 }] : [],
  );
  const total = of.reduce((sum, { count }) => sum + count, 0);
  if (of.length < 2 || total <= of.length) return null;
  const mean = of.reduce((sum, each) => sum + each.count * each.mean, 0) / total;
  const between = of.reduce((sum, each) => sum + each.count * (each.mean - mean) ** 2, 0);
  const inside = of.reduce((sum, each) => sum + (each.count - 1) * each.deviation ** 2, 0);
  if (between + inside === 0) return null;
  const byChance = ((of.length - 1) * inside) / (total - of.length);
  return Math.sqrt(Math.max(0, (between - byChance) / (between + inside)));
}
