import type { RunnableRecord, TrackedRecord } from "../../rest/api/records.ts";
import { either, runKinds } from "../../rest/api/kinds.ts";
import type { FieldExtensions } from "../../engine/field-extensions.ts";
import { arg, root } from "../core/builder.ts";
import { MAX_IDS, pageArgs, within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { fetchMore, type Resource, toResource, unverified } from "../core/resource.ts";
import { ALL, ANY_KIND, identifyAmong, idOf } from "../core/ids.ts";
import { Entity, Loggable, Project, Run, Trackable, User } from "../core/refs.ts";
import { logArgs, LogChunk, readLog, urlOf } from "./logs.ts";
import { archived } from "./workload.ts";
import {
  durationSeconds,
  isFinished,
  phaseOf,
  readStatuses,
  RunPhaseEnum,
  RunStatusEnum,
  STATE,
  statusOf,
  StatusRecordConnection,
} from "./status.ts";

/* Interfaces and fields that all kinds of run share. Differences between kinds are in the rows of `kinds`. */

const resolveType = ({ kind }: Resource) => kind.name;

const entity = fieldsOf();

Entity.implement({
  description: "An object with a global id, for Relay's global object identification.",
  resolveType,
  fields: (t) => ({
    id: t.id(entity.fromAddress("Global id: opaque, stable, unique across all types.", idOf)),
  }),
});

const tracked = fieldsOf<TrackedRecord>();

Trackable.implement({
  description: "An object with a status and a status history: a run, or a job of an experiment.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    internalId: t.id(
      tracked.fromAddress(
        "Integer id in the service, unique within its kind.",
        ({ address }) => address["id"] ?? "",
      ),
    ),
    uuid: t.string(tracked.property("uuid", "Identifier in the service.")),
    uniqueName: t.string({
      ...tracked.computed(
        ["unique_name"],
        "Name that the service uses, such as `ada.mnist.42`.",
        ({ unique_name }, { kind, address }) => unique_name ?? kind.formatName(address),
      ),
      nullable: false,
    }),
    status: t.field({
      type: RunStatusEnum,
      ...tracked.computed(["last_status"], "Latest status.", ({ last_status }) => statusOf(last_status)),
      nullable: false,
    }),
    rawStatus: t.string(tracked.property("last_status", "Status as the service spells it.")),
    phase: t.field({
      type: RunPhaseEnum,
      ...tracked.computed(STATE, "Coarse stage, by the status.", phaseOf),
      nullable: false,
    }),
    isFinished: t.boolean({
      ...tracked.computed(STATE, "Whether it has ended.", isFinished),
      nullable: false,
    }),
    createdAt: t.field(tracked.time("created_at", "Time of creation.")),
    updatedAt: t.field(tracked.time("updated_at", "Last change.")),
    startedAt: t.field(tracked.time("started_at", "Time of the start.")),
    finishedAt: t.field(tracked.time("finished_at", "Time of the end.")),
    durationSeconds: t.float(
      tracked.computed(
        STATE,
        "Seconds from the start to the end, or until now.",
        (record, _, _args: object, { session }) => durationSeconds(record, session.upstreamTime()),
      ),
    ),
    statuses: t.field({
      type: StatusRecordConnection,
      args: pageArgs,
      ...tracked.child("Status history, oldest first.", readStatuses),
    }),
  }),
});

const runnable = fieldsOf<RunnableRecord>();

Run.implement({
  description: `A run of a project: ${either(runKinds.map(({ one }, index) => (index === 0 ? one : one.replace(/^an? /, ""))))}.`,
  interfaces: [Entity, Trackable],
  resolveType,
  fields: (t) => ({
    name: t.string(runnable.property("name", "Display name.")),
    description: t.string(runnable.property("description", "Free text.")),
    user: t.field(runnable.reference("user", User, "Who created it.")),
    project: t.field({
      type: Project,
      ...runnable.fromAddress("Its project.", ({ address: { owner = "", project = "" } }) =>
        toResource(Project.kind, { owner, project }),
      ),
    }),
    tags: t.stringList(runnable.property("tags", "Tags.")),
    isBookmarked: t.boolean(runnable.property("bookmarked", "Whether the caller bookmarked it.")),
    isArchived: t.boolean(archived),
  }),
});

Loggable.implement({
  description: "An object with a log.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    logs: t.field({
      type: LogChunk,
      args: logArgs,
      ...entity.child("A part of the log; null if none was written.", readLog),
    }),
    logsUrl: t.string(urlOf("logs", "the whole log")),
  }),
});

/** The resource that a caller named, of any kind. A project is read where the server can, because nothing else verifies that it exists. */
async function named(argument: string, id: string, { session }: Context): Promise<Resource> {
  const resource = unverified(identifyAmong(ALL, argument, id));
  const isReadable = session.server.capabilities.includes("PROJECT_RECORDS");
  return resource.kind.name === Project.kind.name && isReadable
    ? fetchMore(resource, ["name"], session)
    : resource;
}

root.query("entity", {
  type: Entity,
  description: "Any object by its id. The existence of a user is not checked.",
  args: { id: arg.id({ required: true, description: ANY_KIND }) },
  resolve: (_, { id }, context) => named("id", id, context),
});

root.query("entities", {
  type: [Entity],
  nullable: { list: false, items: true },
  description: "Objects by their ids, in the same order; null with an error for one that fails.",
  extensions: { itemsOf: "ids" } satisfies FieldExtensions,
  args: {
    ids: arg.idList({ required: true, description: `At most ${MAX_IDS}, each as \`entity\` takes it.` }),
  },
  resolve: (_, { ids }, context) => {
    within("ids", ids.length, { from: 0, to: MAX_IDS });
    // A separate promise for each, so that an invalid id is a single null.
    return ids.map((id, index) => named(`ids[${index}]`, id, context));
  },
});
