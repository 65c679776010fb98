import type { Command } from "../../rest/api/endpoint.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import { identify, withId } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";
import { fetchMore } from "../core/resource.ts";
import {
  type AddMutation,
  AFTER_CHANGE,
  type CommandResult,
  mutations,
  recordPayload,
} from "../operations/mutations.ts";
import { isFinished } from "./status.ts";

/* The mutations that stop runs. They know what a finished run is, which servers stop like any other. */

type RunRef = (typeof runRefs)[number];

interface StopResult extends CommandResult<RunRef["$inferType"]["loaded"]> {
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

const stopRun =
  (target: RunRef, endpoint: Command<RunAddress, undefined>): AddMutation =>
  (name) => {
    const { one } = target.kind.run;
    const type = recordPayload<StopResult["source"]["loaded"], RunAddress, StopResult>(
      name,
      target,
      AFTER_CHANGE,
    );
    builder.objectField(type, "isSent", (t) =>
      t.boolean({
        nullable: false,
        description: "Whether the command was sent. False for a finished run with `ifActive`.",
        resolve: ({ isSent }) => isSent,
      }),
    );
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description: `Stops ${one}. Stopping takes time: the status in the payload can still be the old one. Known servers stop a finished one as well, which turns its status into \`STOPPED\`: see \`ifActive\`.`,
        args: {
          ...withId(target),
          ...ifActiveArg,
        },
        resolve: async (_, { id, ifActive }, { session, names }): Promise<StopResult> => {
          const source = identify(target.kind, "id", id, names);
          if (ifActive) {
            session.server.offered(endpoint);
            // What other operations have read may be older than its end.
            session.cut();
            const result = await fetchMore(source, STATE, session);
            if (isFinished(result.loaded)) return { source, result, isSent: false };
          }
          await session.send(endpoint, source.address, undefined);
          return { source, result: source, isSent: true };
        },
      }),
    );
  };

for (const ref of runRefs) {
  const { name, endpoints } = ref.kind.run;
  if (endpoints.stop) mutations({ [`stop${name}`]: stopRun(ref, endpoints.stop) });
}
