import { uncapital } from "../../rest/api/kinds.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { Session } from "../../rest/session/session.ts";
import { computedFrom, computedFromOrNull, flag, objectType, root } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { type RunRef, runRefs, type RunResource } from "../core/refs.ts";
import { fetchMore } from "../core/resource.ts";
import {
  cloned,
  command,
  DeletePayload,
  GONE,
  MAKES_ANOTHER,
  REPEATABLE,
  targetOf,
} from "../core/mutations.ts";
import { CommandOutcome, type Commanded, outcomeOf } from "./command-outcome.ts";
import { isFinished, STATE } from "./status.ts";
import { update } from "./update.ts";

/* The mutations of each kind of run: those whose endpoints are in the row of the kind in `rest/api/kinds.ts`. */

/** Reads the current state of a run. Does not use shared responses of other operations, which may be older than the end of the run. */
export function readFresh(run: RunResource, session: Session): Promise<RunResource> {
  session.endSharing();
  return fetchMore(run, STATE, session);
}

export const hasFinished = ({ loaded }: RunResource): boolean => isFinished(loaded);

export const forceArg = {
  force: flag(false, "Send the command without reading the run first, even if it has finished."),
};

export const STOPS = "Finished runs are left alone. A run that is stopping may still have its old status.";

/** Sentences about the effects of a command on other runs, by kind. */
const EFFECTS: Readonly<Record<string, { readonly stop?: string; readonly delete?: string }>> = {
  BuildJob: { delete: "Runs that used its image lose the link to it." },
  Group: { stop: "Its experiments are stopped as well.", delete: "Its experiments are deleted as well." },
};

const sentences = (...all: readonly (string | undefined)[]): string => all.filter(Boolean).join(" ");

/** Adds the mutation that stops a run. It reads the run first, because servers would also stop a finished run. */
function addStop(target: RunRef, endpoint: Command<RunAddress, undefined>): void {
  const { name, one } = target.kind.run;
  const type = objectType<Commanded>(`Stop${name}Payload`, "Payload of a stop command.", (t) => ({
    [uncapital(name)]: t.field(
      computedFromOrNull(target, "The record after the command.", ({ run }: Commanded) => run),
    ),
    outcome: t.field(
      computedFrom(CommandOutcome, "`DONE`, or `NOT_SENT` if the run had already finished.", outcomeOf),
    ),
  }));
  root.mutation(`stop${name}`, {
    type,
    description: sentences(`Stops ${one}.`, EFFECTS[name]?.stop, STOPS, REPEATABLE),
    args: { ...withId(target), ...forceArg },
    resolve: async (_, { id, force }, context) => {
      const { session } = context;
      const run = await targetOf(target.kind, id, context);
      session.server.supported(endpoint);
      const now = force ? run : await readFresh(run, session);
      if (!force && hasFinished(now)) return { run: now, isSent: false };
      await session.send(endpoint, run.address, undefined);
      return { run, isSent: true };
    },
  });
}

for (const target of runRefs) {
  const { name, one, endpoints } = target.kind.run;
  update(target, endpoints.update);
  if (endpoints.stop) addStop(target, endpoints.stop);
  command(`delete${name}`, endpoints.delete, {
    target,
    type: DeletePayload,
    description: sentences(`Deletes ${one}.`, EFFECTS[name]?.delete, GONE),
  });
  command(`start${name}Tensorboard`, endpoints.startTensorboard, {
    target,
    description: `Starts the TensorBoard of ${one}. Repeating it can start a second one.`,
  });
  command(`stop${name}Tensorboard`, endpoints.stopTensorboard, {
    target,
    description: `Stops the TensorBoard of ${one}. ${REPEATABLE}`,
  });
  // The `original` of the new record is the source. If the source itself was resumed, `original` is the first run of the chain.
  command(`resume${name}`, endpoints.resume, {
    target,
    description: `Resumes ${one} as a new record, which starts. ${MAKES_ANOTHER}`,
    resultOf: cloned,
  });
  command(`copy${name}`, endpoints.copy, {
    target,
    description: `Copies ${one} to a new record, which starts. ${MAKES_ANOTHER}`,
    resultOf: cloned,
  });
}
