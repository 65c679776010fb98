import { capital, uncapital } from "../../rest/api/kind.ts";
import { kindsByName } from "./kinds.ts";

/**
 * Maps our type names to the served ones, which are configurable because a federated graph may have its own `Node` or
 * `Job`. Our code uses our own names; the served ones appear in the schema, in global ids and in messages.
 */
export interface TypeNames {
  /** Whether no type is renamed. */
  readonly areOurs: boolean;
  /** The served name of one of our types. Names derived from a renamed type follow it: `UpdateJobInput`. */
  readonly served: (ours: string) => string;
  /** The served name of a root field: `stopJob` follows `Job`, `entities` follows `Entity`. */
  readonly servedField: (ours: string) => string;
  /** Our name of the kind that is served under this name; null without one. */
  readonly ours: (served: string) => string | null;
}

/** Served names by our names, for renamed types only: `{ Node: "ClusterNode" }`. */
export type Renames = Readonly<Record<string, string>>;

export function createTypeNames(renames: Renames): TypeNames {
  // The longest match wins: `stopBuildJob` is about `BuildJob`, not `Job`.
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

/** The name of a type as that of a list of it. */
export const plural = (name: string) => (name.endsWith("y") ? `${name.slice(0, -1)}ies` : `${name}s`);
