import { capital } from "../../rest/api/kind.ts";
import { listOf } from "../../rest/api/kinds.ts";
import { builder } from "../core/builder.ts";
import { runRefs } from "../core/refs.ts";

/** The kinds of run that servers list, by their names in `RunKind`: `BUILD_JOB` for `BuildJob`. */
export const RUN_KINDS = new Map(
  runRefs
    .filter(({ kind: { run } }) => listOf(run))
    .map(({ kind }) => [kind.name.replaceAll(/(?!^)[A-Z]/g, "_$&").toUpperCase(), kind]),
);

export const RunKind = builder.enumType("RunKind", {
  description: "A kind of run.",
  values: Object.fromEntries(
    [...RUN_KINDS].map(([name, { run }]) => [
      name,
      { description: `${capital(run.manyInFull ?? run.many)}.` },
    ]),
  ),
});

/** The kind of run with this name in `RunKind`. */
export function runKindNamed(name: string) {
  const kind = RUN_KINDS.get(name);
  if (!kind) throw new TypeError(`expected a kind of run, got ${name}`);
  return kind;
}
