import type { RunnableRecord, TrackedRecord } from "../../rest/api/records.ts";
import { either, runKinds } from "../../rest/api/kinds.ts";
import { pageArgs } from "../core/connection.ts";
import { fieldsOf } from "../core/fields.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { idOf, REFERENCE } from "../core/ids.ts";
import { Entity, Loggable, Project, Run, Trackable, User } from "../core/refs.ts";
import { logArgs, LogChunk, readLog, urlOf } from "./logs.ts";
import { archived } from "./shared-run-fields.ts";
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

/* The interfaces `Entity`, `Trackable`, `Run` and `Loggable`. Differences between kinds of run are in the rows of `kinds`. */

const resolveType = ({ kind }: Resource) => kind.name;

const entity = fieldsOf();

Entity.implement({
  description: "An object with a global id, for Relay's global object identification.",
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
