import type { RunnableRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import type { StreamContext } from "../core/context.ts";
import { ANY_KIND, identifyRun } from "../core/ids.ts";
import { isFinished } from "../types/status.ts";
import { eventsOf } from "./event.ts";
import { keyOfRun, latestOf, readRun, RunUpdate, updateOf } from "./run-state.ts";

interface Args {
  readonly id: string;
}

function watchRun({ id }: Args, { live }: StreamContext) {
  const run = identifyRun("id", id);
  let sent: Partial<RunnableRecord> | null = null;
  return live.watch(
    {
      key: `run ${keyOfRun(run)}`,
      read: async (session, before: Partial<RunnableRecord> | null) =>
        latestOf(before, await readRun(run, session)),
      isFinal: isFinished,
    },
    (record) => {
      if (record === sent) return null;
      const update = updateOf(run, record, sent);
      sent = record;
      return update;
    },
  );
}

builder.subscriptionField("runUpdated", (t) =>
  t.field({
    type: RunUpdate,
    nullable: false,
    description:
      "Changes of a run of any kind, from its present state until it has finished. A slow reader gets only the latest.",
    args: { id: t.arg.id({ required: true, description: ANY_KIND }) },
    ...eventsOf(watchRun),
  }),
);
