import { capital, uncapital } from "../../rest/api/kinds.ts";
import { root } from "../core/builder.ts";
import { lookUp } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";

/* The root fields that look up a run by its id: `experiment`, `job`, `buildJob` and `group`. */

for (const target of runRefs) {
  const { name, one } = target.kind.run;
  root.query(uncapital(name), lookUp(target, `${capital(one)} by its id.`));
}
