import type { RunnableRecord, TrackedRecord } from "../../rest/api/records.ts";
import { either, runKinds } from "../../rest/api/kinds.ts";
import { OPEN } from "../core/builder.ts";
import { bothWaysArgs } from "../core/connection.ts";
import { fieldsOf } from "../core/fields.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { idOf, REFERENCE } from "../core/ids.ts";
import { Bookmarkable, Entity, Loggable, Project, Run, StatusRecord, Trackable, User } from "../core/refs.ts";
import { logArgs, LogChunk, readLog, urlOf } from "./logs.ts";
import { archived } from "./shared-run-fields.ts";
import {
  durationSeconds,
  isFinished,
  phaseOf,
  readLatestStatus,
  readStatuses,
  RunPhaseEnum,
  RunStatusEnum,
  STATE,
  statusOf,
  StatusRecordConnection,
} from "./status.ts";

/* The interfaces of the schema. Differences between kinds are in the table `kinds`. */

const resolveType = ({ kind }: Resource) => kind.name;

const entity = fieldsOf();

Entity.implement({
  description: `An object with a global id, for Relay's global object identification. ${OPEN.interface}`,
  resolveType,
  fields: (t) => ({
    id: t.id(
      entity.fromAddress(
        "Global id: opaque, unique across all types at any one time. After a rename, a project and its runs have new ids, and a new project of the old name has the old id. `uuid` stays.",
        idOf,
      ),
    ),
  }),
});

const tracked = fieldsOf<TrackedRecord>();

Trackable.implement({
  description: `An object with a status and a status history: a run, or a job of an experiment. ${OPEN.interface}`,
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
        "Name that the service uses, such as `ada.mnist.42`. An experiment and a group can have the same.",
        ({ unique_name }, { kind, address }) => unique_name ?? kind.formatName(address),
      ),
      nullable: false,
    }),
    reference: t.string(tracked.fromAddress(REFERENCE, ({ kind, address }) => kind.formatReference(address))),
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
    updatedAt: t.field(tracked.time("updated_at", "Time of the last change.")),
    startedAt: t.field(tracked.time("started_at", "Time of the start.")),
    finishedAt: t.field(tracked.time("finished_at", "Time of the end.")),
    durationSeconds: t.float(
      tracked.computed(
        STATE,
        "Seconds from the start to the end, or until now; null before the start.",
        (record, _, _args: object, { session }) => durationSeconds(record, session.upstreamTime()),
      ),
    ),
    statuses: t.field({
      type: StatusRecordConnection,
      args: bothWaysArgs,
      ...tracked.child(
        "Status history, oldest first: `last: 20` has the newest. Costs a request for each object.",
        readStatuses,
      ),
    }),
    latestStatus: t.field({
      type: StatusRecord,
      ...tracked.child(
        "Newest entry of the status history, with its message and stack trace; null if the history is empty. Costs a request for each object: two for a history of 100 entries or more, and one for each page if the server has no offsets.",
        readLatestStatus,
      ),
    }),
  }),
});

/** Helpers for the keys that records of runs and records of projects have in common. */
const bookmarkable =
  fieldsOf<
    Pick<RunnableRecord, "name" | "description" | "tags" | "bookmarked" | "created_at" | "updated_at">
  >();

Bookmarkable.implement({
  description: `A run or a project: users bookmark and archive both. ${OPEN.interface}`,
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    reference: t.string(
      bookmarkable.fromAddress(REFERENCE, ({ kind, address }) => kind.formatReference(address)),
    ),
    name: t.string(bookmarkable.property("name", "Display name.")),
    description: t.string(bookmarkable.property("description", "Free text.")),
    tags: t.stringList(bookmarkable.property("tags", "Tags; null if it has none.")),
    isBookmarked: t.boolean(bookmarkable.property("bookmarked", "Whether the caller bookmarked it.")),
    isArchived: t.boolean(archived),
    createdAt: t.field(bookmarkable.time("created_at", "Time of creation.")),
    updatedAt: t.field(bookmarkable.time("updated_at", "Time of the last change.")),
  }),
});

const runnable = fieldsOf<RunnableRecord>();

Run.implement({
  description: `A run of a project: ${either(runKinds.map(({ one }, index) => (index === 0 ? one : one.replace(/^an? /, ""))))}. ${OPEN.interface}`,
  interfaces: [Entity, Bookmarkable, Trackable],
  resolveType,
  fields: (t) => ({
    user: t.field(runnable.reference("user", User, "User who created it; null if the service does not say.")),
    project: t.field({
      type: Project,
      ...runnable.fromAddress("Its project.", ({ address: { owner = "", project = "" } }) =>
        toResource(Project.kind, { owner, project }),
      ),
    }),
  }),
});

Loggable.implement({
  description: `An object with a log. ${OPEN.interface}`,
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
