import { slice } from "../../rest/session/pages.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { TrackedRecord } from "../../rest/api/records.ts";
import { connect, connectionOf, type PageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { Resource } from "../core/resource.ts";
import { entryIds } from "../core/entry-ids.ts";
import { StatusRecord, Trackable } from "../core/refs.ts";
import { RunStatusEnum, statusOf } from "./status.ts";

export const StatusRecordConnection = connectionOf(StatusRecord, "A page of a status history.");

export async function readStatuses(resource: Resource<TrackedRecord>, args: PageArgs, context: Context) {
  const { kind, address } = resource;
  if (!kind.statuses) throw notOffered("a status history of such runs");
  const page = await slice(
    context.session,
    { endpoint: kind.statuses, address },
    sliceRequest(args, context),
  );
  return connect(page, (record) => ({ parent: resource, record }));
}

StatusRecord.implement({
  description: "An entry of a status history.",
  fields: (t) => ({
    ...entryIds(t, {
      type: "StatusRecord",
      within: ({ parent: { kind, address } }) => [
        kind.name,
        ...kind.parameters.map((name) => address[name] ?? ""),
      ],
      number: ({ record }) => record.id,
    }),
    uuid: t.string({
      description: "Identifier in the tracking service.",
      resolve: ({ record }) => record.uuid ?? null,
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "Time at which it was reached.",
      resolve: ({ record }) => record.created_at ?? null,
    }),
    traceback: t.string({
      description: "Stack trace of an error, where the server reports it.",
      resolve: ({ record }) => record.traceback ?? null,
    }),
    message: t.string({ description: "Explanation.", resolve: ({ record }) => record.message ?? null }),
    status: t.field({
      type: RunStatusEnum,
      nullable: false,
      description: "Status.",
      resolve: ({ record }) => statusOf(record.status),
    }),
    rawStatus: t.string({
      description: "Status, as the service spells it.",
      resolve: ({ record }) => record.status ?? null,
    }),
    details: t.field({
      type: "JSON",
      description: "Details, which only some kinds have.",
      resolve: ({ record }) => record.details ?? null,
    }),
    subject: t.field({
      type: Trackable,
      description: "Whose status it is.",
      resolve: ({ parent }) => parent,
    }),
  }),
});
