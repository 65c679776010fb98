import type { RunnableRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import { Run } from "../core/refs.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { isFinished, RunStatusEnum, statusOf } from "../types/status.ts";

interface Update {
  readonly run: Resource<RunnableRecord>;
  /** The record of the subscriber's previous event; null at the beginning. */
  readonly before: Partial<RunnableRecord> | null;
}

export const RunUpdate = builder.objectRef<Update>("RunUpdate").implement({
  description: "The state of a run at the beginning of a subscription or after a change.",
  fields: (t) => ({
    run: t.field({
      type: Run,
      nullable: false,
      description:
        "The run. Fields that the poll has read cost no upstream request, the others are read for each event.",
      resolve: ({ run }) => run,
    }),
    previousStatus: t.field({
      type: RunStatusEnum,
      description:
        "Status in the previous event of the run in this subscription. Null in its first event. Statuses in between may be missing: see `Trackable.statuses`.",
      resolve: ({ before }) => before && statusOf(before.last_status),
    }),
    isFinal: t.boolean({
      nullable: false,
      description: "Whether the run has reached a final phase.",
      resolve: ({ run: { loaded } }) => isFinished(loaded),
    }),
  }),
});

/** The event of a record of a run. */
export const updateOf = (
  { kind, address }: Resource<RunnableRecord>,
  record: Partial<RunnableRecord>,
  before: Partial<RunnableRecord> | null,
): Update => ({ run: toResource(kind, address, record), before });
