import { capital, uncapital } from "../../rest/api/kind.ts";
import { builder } from "../core/builder.ts";
import { lookUp } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";
import { cloned, command, DeletedRun } from "./mutations.ts";
import { update } from "./update.ts";

/*
 * The root fields of each kind of run: its look-up, and a mutation for each of its commands. A kind has those whose endpoints
 * are in its row.
 */

/** Commands without input: the mutation, its endpoint, and what it does; `%` stands for the kind. */
const ACTS = [
  [
    "start%Tensorboard",
    "startTensorboard",
    "Starts the TensorBoard of %. Repeating the command can start a second one.",
  ],
  ["stop%Tensorboard", "stopTensorboard", "Stops the TensorBoard of %."],
  ["bookmark%", "bookmark", "Bookmarks % for the caller."],
  ["unbookmark%", "unbookmark", "Removes the caller's bookmark from %."],
] as const;

/** Commands that create a record. Its `original` is the source; of a resumed source, it can be the first run of the chain. */
const CLONES = [
  ["resume%", "resume", "Resumes % as a new record."],
  ["copy%", "copy", "Copies % to a new record."],
] as const;

const named = (text: string, subject: string) => text.replace("%", subject);

for (const target of runRefs) {
  const { name, one, endpoints } = target.kind.run;
  builder.queryField(uncapital(name), (t) => t.field(lookUp(target, `${capital(one)} by its id.`)));
  update(target, endpoints.update);
  command(`delete${name}`, endpoints.delete, { target, type: DeletedRun, description: `Deletes ${one}.` });
  for (const [mutation, endpoint, text] of ACTS)
    command(named(mutation, name), endpoints[endpoint], { target, description: named(text, one) });
  for (const [mutation, endpoint, text] of CLONES) {
    const description = named(text, one);
    command(named(mutation, name), endpoints[endpoint], { target, description, resultOf: cloned });
  }
}
