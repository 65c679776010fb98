import { capital } from "../../rest/api/kind.ts";
import { listOf } from "../../rest/api/kinds.ts";
import { builder } from "../core/builder.ts";
import { runRefs } from "../core/refs.ts";

/** The kinds of run that servers list, by their names in `RunKind`: `BUILD_JOB` for `BuildJob`. */
const LISTED = new Map(
  runRefs
    .filter(({ kind: { run } }) => listOf(run))
    .map(({ kind }) => [kind.name.replaceAll(/(?!^)[A-Z]/g, "_$&").toUpperCase(), kind]),
);

export const RunKind = builder.enumType("RunKind", {
  description: "A kind of run.",
  values: Object.fromEntries(
    [...LISTED].map(([name, { run }]) => [name, { description: `${capital(run.manyInFull ?? run.many)}.` }]),
  ),
});

/** The kind of run with this name in `RunKind`. */
export function runKindNamed(name: string) {
  const kind = LISTED.get(name);
  if (!kind) throw new TypeError(`expected a kind of run, got ${name}`);
  return kind;
}

/** The argument `kind` beside an `id` of any run. */
export const kindArg = builder.args((t) => ({
  kind: t.field({
    type: RunKind,
    description:
      "Kind of the run, for a unique name that several kinds can have. Other names, and global ids, tell their own.",
  }),
}));

/** The kind that it names; null without one. */
export const kindOf = (name: string | null | undefined) => (name == null ? null : runKindNamed(name));
