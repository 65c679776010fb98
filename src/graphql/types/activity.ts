import type { Get } from "../../rest/api/endpoint.ts";
import { activity } from "../../rest/api/kinds.ts";
import { project } from "../../rest/api/project.ts";
import type { ActivityRecord as Entry } from "../../rest/api/optional-records.ts";
import type { Page } from "../../rest/api/page.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { entryIds } from "../core/entry-ids.ts";
import { requires } from "../core/ids.ts";
import { Project, User } from "../core/refs.ts";
import { resolveReference } from "../core/resource.ts";

/*
 * What users did, and what the caller looked at. Source: the code of release 0.4.4; the recordings have no entry.
 */

const ActivityRecord = builder.objectRef<Entry>("ActivityRecord").implement({
  description: "Something that a user did with an object, or that a user looked at it.",
  fields: (t) => ({
    ...entryIds(t, {
      type: "ActivityRecord",
      use: "for client caches. Entries cannot be looked up by it.",
      within: () => [],
      number: ({ id }) => id,
    }),
    action: t.string({
      description: "What was done, as the service spells it, such as `viewed` or `updated`.",
      resolve: ({ event_action }) => event_action ?? null,
    }),
    subject: t.string({
      description: "Kind of the object, as the service spells it, such as `experiment`.",
      resolve: ({ event_subject }) => event_subject ?? null,
    }),
    actor: t.field({
      type: User,
      description: "Who did it. The name costs no upstream request.",
      resolve: ({ actor }) => (actor ? resolveReference(User.kind, actor) : null),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "Time at which it was done.",
      resolve: ({ created_at }) => created_at ?? null,
    }),
    objectInternalId: t.id({
      description:
        "Integer id of the object in the tracking service, as a string. Unique only within its kind.",
      resolve: ({ object_id }) => (object_id == null ? null : `${object_id}`),
    }),
    objectName: t.string({
      description:
        "Name of the object, such as `ada.mnist.42`, which fields with an argument `id` take. The object may be gone.",
      resolve: ({ object_name }) => object_name ?? null,
    }),
  }),
});

const ActivityConnection = connectionOf("ActivityRecord", ActivityRecord, "A page of entries.");

/** The entries of a list of the service. */
async function entriesOf<At>(
  endpoint: Get<At, Page<Entry>>,
  address: At,
  { args, context }: { readonly args: PageArgs; readonly context: Context },
) {
  const page = await slice(context.session, { endpoint, address }, sliceRequest(args, context));
  return connect(page, (entry) => entry);
}

const { own, history } = activity.optional;
const { activity: ofProject } = project.optional;

builder.objectField(Project, "activity", (t) =>
  t.field({
    type: ActivityConnection,
    description: `What users did in the project, the latest first. Known servers give an empty list if the caller may not see the project.${requires(ofProject)}`,
    args: pageArgs,
    ...fieldsOf(Project.kind).child(({ address }, args: PageArgs, context: Context) =>
      entriesOf(ofProject, address, { args, context }),
    ),
  }),
);

builder.queryFields((t) => ({
  activity: t.field({
    type: ActivityConnection,
    description: `What the caller did, the latest first.${requires(own)}`,
    args: pageArgs,
    resolve: (_, args, context) => entriesOf(own, {}, { args, context }),
  }),
  history: t.field({
    type: ActivityConnection,
    description: `What the caller looked at, the latest first.${requires(history)}`,
    args: pageArgs,
    resolve: (_, args, context) => entriesOf(history, {}, { args, context }),
  }),
}));
