import { kindsByName } from "./kinds.ts";

/**
 * What types are called towards callers: a wider graph may have a `Node` or a `Job` of its own. All of our code uses
 * our own names; these stand in the served schema, in global ids and in messages.
 */
export interface TypeNames {
  /** Whether nothing is called otherwise. */
  readonly areOurs: boolean;
  /** The served name of a type of ours. Types that are called after a renamed one follow: `UpdateJobInput`. */
  readonly served: (ours: string) => string;
  /** The served name of a root field: `stopJob` follows `Job`, `entities` follows `Entity`. */
  readonly servedField: (ours: string) => string;
  /** Our name of a kind that is served under this one; null when none is. */
  readonly ours: (served: string) => string | null;
}

/** Our names and the served ones, of those types that are called otherwise: `{ Node: "ClusterNode" }`. */
export type Renames = Readonly<Record<string, string>>;

export function createTypeNames(renames: Renames): TypeNames {
  // The longest name that fits is meant: `stopBuildJob` speaks of a `BuildJob` and not of a `Job`.
  const subjects = [...new Set([...kindsByName.keys(), ...Object.keys(renames)])];
  const pattern = new RegExp(
    `(?:${subjects.toSorted((a, b) => b.length - a.length).join("|")})(?![a-z])`,
    "g",
  );
  const plurals = new Map(Object.entries(renames).map(([from, to]) => [plural(from), plural(to)]));
  const served = (ours: string) => ours.replaceAll(pattern, (subject) => renames[subject] ?? subject);
  const kinds = new Map([...kindsByName.keys()].map((name) => [served(name), name]));
  return {
    areOurs: Object.keys(renames).length === 0,
    served,
    servedField: (ours) => {
      const name = capital(ours);
      return uncapital(plurals.get(name) ?? served(name));
    },
    ours: (name) => kinds.get(name) ?? null,
  };
}

const plural = (name: string) => (name.endsWith("y") ? `${name.slice(0, -1)}ies` : `${name}s`);
const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
const uncapital = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
