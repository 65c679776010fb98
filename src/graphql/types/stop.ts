import type { Command } from "../../rest/api/endpoint.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { Session } from "../../rest/session/session.ts";
import { builder } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";
import { fetchMore } from "../core/resource.ts";
import {
  type AddMutation,
  AFTER_CHANGE,
  type CommandResult,
  mutations,
  recordPayload,
} from "../operations/mutations.ts";
import { targetOf } from "../operations/named-run.ts";
import { isFinished } from "./status.ts";

/* The mutations that stop runs. They know what a finished run is, which servers stop like any other. */

type RunRef = (typeof runRefs)[number];

export interface StopResult extends CommandResult<RunRef["$inferType"]["loaded"]> {
  readonly isSent: boolean;
}

/** Keys that tell whether a run has finished. */
export const STATE = ["last_status", "started_at", "finished_at"];

export const ifActiveArg = builder.args((t) => ({
  ifActive: t.boolean({
    required: true,
    defaultValue: false,
    description:
      "Reads the record first, and sends nothing if it has finished: it keeps its status. One that finishes between the read and the command is stopped.",
  }),
}));

/** Stops a run: any, or with `ifActive` one that has not finished. */
export async function stopRun(
  source: RunRef["$inferType"],
  endpoint: Command<RunAddress, undefined>,
  ifActive: boolean,
  session: Session,
): Promise<StopResult> {
  if (ifActive) {
    session.server.offered(endpoint);
    // What other operations have read may be older than its end.
    session.endSharing();
    const result = await fetchMore(source, STATE, session);
    if (isFinished(result.loaded)) return { source, result, isSent: false };
  }
  await session.send(endpoint, source.address, undefined);
  return { source, result: source, isSent: true };
}

/** The field of a payload that tells whether a run was stopped. */
export const isSentField = {
  nullable: false,
  description: "Whether the command was sent. False for a finished run with `ifActive`.",
  resolve: ({ isSent }: StopResult) => isSent,
} as const;

const TAKES_TIME =
  "Stopping takes time: the status in the payload can still be the old one. Known servers stop a finished one as well, which turns its status into `STOPPED`: see `ifActive`.";

export const stopTitle = (one: string) => `Stops ${one}. ${TAKES_TIME}`;

const stop =
  (target: RunRef, endpoint: Command<RunAddress, undefined>): AddMutation =>
  (name) => {
    const { one } = target.kind.run;
    const type = recordPayload<StopResult["source"]["loaded"], RunAddress, StopResult>(
      name,
      target,
      AFTER_CHANGE,
    );
    builder.objectField(type, "isSent", (t) => t.boolean(isSentField));
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description: stopTitle(one),
        args: { ...withId(target), ...ifActiveArg },
        resolve: async (_, { id, ifActive }, context) =>
          stopRun(await targetOf(target.kind, id, context), endpoint, ifActive, context.session),
      }),
    );
  };

for (const ref of runRefs) {
  const { name, endpoints } = ref.kind.run;
  if (endpoints.stop) mutations({ [`stop${name}`]: stop(ref, endpoints.stop) });
}
