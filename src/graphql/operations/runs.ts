import { capital, type RunKind, uncapital } from "../../rest/api/kind.ts";
import { builder } from "../core/builder.ts";
import { lookUp } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";
import { act, clone, mutations, remove } from "./mutations.ts";
import { update } from "./update.ts";

/*
 * The root fields that several kinds of run have. A kind has those whose endpoints are in its row.
 */

/** The commands of a kind after which its record is read again: mutation, endpoint and description of each. */
const actsOf = ({ name, one, endpoints, optional = {} }: RunKind) =>
  [
    [
      `start${name}Tensorboard`,
      endpoints.startTensorboard,
      `Starts the TensorBoard of ${one}. Repeating it can start a second one.`,
    ],
    [`stop${name}Tensorboard`, endpoints.stopTensorboard, `Stops the TensorBoard of ${one}.`],
    [`bookmark${name}`, endpoints.bookmark, `Bookmarks ${one} for the caller.`],
    [`unbookmark${name}`, endpoints.unbookmark, `Removes the caller's bookmark from ${one}.`],
    [
      `archive${name}`,
      optional.archive,
      `Archives ${one}: lists leave it out until it is restored. The server can stop what is archived, and delete it for good after some days.`,
    ],
    [`restore${name}`, optional.restore, `Restores ${one} from the archive.`],
  ] as const;

for (const ref of runRefs) {
  const { run } = ref.kind;
  const { name, one } = run;
  const { update: change, delete: discard, resume, copy } = run.endpoints;
  builder.queryField(uncapital(name), (t) => t.field(lookUp(ref, `${capital(one)}.`)));
  mutations({
    ...(change && { [`update${name}`]: update(ref, change, `Changes ${one}.`) }),
    ...(discard && { [`delete${name}`]: remove(ref, discard, `Deletes ${one}.`) }),
    ...(resume && { [`resume${name}`]: clone(ref, resume, `Resumes ${one} as a new record.`) }),
    ...(copy && { [`copy${name}`]: clone(ref, copy, `Copies ${one} to a new record.`) }),
  });
  for (const [mutation, endpoint, description] of actsOf(run)) {
    if (endpoint) mutations({ [mutation]: act(ref, endpoint, description) });
  }
}
