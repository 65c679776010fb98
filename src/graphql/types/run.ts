import type { RunnableRecord, TrackedRecord } from "../../rest/api/records.ts";
import { pageArgs } from "../core/connection.ts";
import { fieldsOf } from "../core/fields.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { idOf } from "../core/ids.ts";
import { kinds } from "../core/kinds.ts";
import { downloadUrl, logArgs, LogChunk, readLog } from "./logs.ts";
import { Cloneable, Entity, Loggable, Project, Run, Trackable, User } from "../core/refs.ts";
import { durationSeconds, isFinished, phaseOf, RunPhaseEnum, RunStatusEnum, statusOf } from "./status.ts";
import { readStatuses, StatusRecordConnection } from "./status-record.ts";

/*
 * Interfaces and fields that all kinds of run share. Differences between kinds are in the rows of `kinds`.
 */

const resolveType = ({ kind }: Resource) => kind.name;

const entity = fieldsOf();

Entity.implement({
  description:
    "Anything with a global id: the contract of Relay's global object identification. (Relay's own name for it is that of a machine here; see `TYPE_NAMES`.)",
  resolveType,
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description:
        "Globally unique, opaque, stable across requests. Safe as a cache key, as the argument of `entity(id:)` and as a federation key.",
      ...entity.fromAddress((resource, _, { names }) => idOf(resource, names)),
    }),
  }),
});

const tracked = fieldsOf<TrackedRecord>();

Trackable.implement({
  description: "Something that runs and therefore has a status history.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    internalId: t.id({
      nullable: false,
      description:
        "The integer id of the record in the tracking service, as a string. Unique only within its kind.",
      ...tracked.fromAddress(({ address }) => address["id"] ?? ""),
    }),
    uuid: t.string({
      description: "The service's own 32-digit hexadecimal identifier.",
      ...tracked.property("uuid"),
    }),
    uniqueName: t.string({
      nullable: false,
      description:
        "Dotted name in the service, such as `alice.mnist.42`. An experiment and a group can carry the very same text.",
      ...tracked.computed(
        ["unique_name"],
        ({ unique_name }, { kind, address }) => unique_name ?? kind.formatName(address),
      ),
    }),
    status: t.field({
      type: RunStatusEnum,
      nullable: false,
      description: "Most recent status. Values this schema does not know become `OTHER`.",
      ...tracked.computed(["last_status"], ({ last_status }) => statusOf(last_status)),
    }),
    rawStatus: t.string({
      description: "Most recent status, spelled as the service spelled it.",
      ...tracked.property("last_status"),
    }),
    phase: t.field({
      type: RunPhaseEnum,
      nullable: false,
      description: "Coarse stage derived from status and timestamps; use it to colour and to stop polling.",
      ...tracked.computed(["last_status", "started_at", "finished_at"], phaseOf),
    }),
    isFinished: t.boolean({
      nullable: false,
      description: "True once the run has reached a final phase.",
      ...tracked.computed(["last_status", "started_at", "finished_at"], isFinished),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "When the record was created.",
      ...tracked.property("created_at"),
    }),
    updatedAt: t.field({
      type: "DateTime",
      description: "When the record was last changed.",
      ...tracked.property("updated_at"),
    }),
    startedAt: t.field({
      type: "DateTime",
      description: "When the run started; null before that.",
      ...tracked.property("started_at"),
    }),
    finishedAt: t.field({
      type: "DateTime",
      description: "When the run ended; null before that.",
      ...tracked.property("finished_at"),
    }),
    durationSeconds: t.float({
      description: "Seconds from start to end, or to now while it still runs; null before the start.",
      ...tracked.computed(["last_status", "started_at", "finished_at"], durationSeconds),
    }),
    statuses: t.field({
      type: StatusRecordConnection,
      description: "Status history, oldest first.",
      args: pageArgs,
      ...tracked.child(readStatuses),
    }),
  }),
});

const runnable = fieldsOf<RunnableRecord>();

Run.implement({
  description: "A record that users create under a project: experiment, job, build job or group.",
  interfaces: [Entity, Trackable],
  resolveType,
  fields: (t) => ({
    name: t.string({ description: "Display name, if one was given.", ...runnable.property("name") }),
    description: t.string({ description: "Free text; can be changed.", ...runnable.property("description") }),
    user: t.field({ description: "Owner of the record.", ...runnable.reference("user", User) }),
    project: t.field({
      type: Project,
      nullable: false,
      description: "Project the record belongs to. Known from the address, so it never costs a request.",
      ...runnable.fromAddress(({ address: { owner = "", project = "" } }) =>
        toResource(kinds.project, { owner, project }),
      ),
    }),
    tags: t.stringList({
      description: "Labels. Null when the service sends null or a shape other than strings.",
      ...runnable.property("tags"),
    }),
    bookmarked: t.boolean({
      description: "Whether the caller bookmarked the record.",
      ...runnable.property("bookmarked"),
    }),
  }),
});

const cloneable = fieldsOf<{ is_clone?: boolean | null | undefined }>();

Cloneable.implement({
  description: "A run that can be restarted, resumed and copied, and may itself be such a clone.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    isClone: t.boolean({
      description: "True when the record was made by restart, resume or copy.",
      ...cloneable.property("is_clone"),
    }),
    original: t.field({
      type: Run,
      description: "The run this one was restarted, resumed or copied from.",
    }),
  }),
});

const loggable = fieldsOf();

Loggable.implement({
  description: "A run whose log text can be read.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    logs: t.field({
      type: LogChunk,
      description: "A window of the log. Null when no log was written.",
      args: logArgs,
      ...loggable.child(readLog),
    }),
    logsUrl: t.string({
      nullable: false,
      description:
        "URL at this gateway that streams the whole log through; send the same Authorization header as for GraphQL. Costs no request.",
      ...loggable.fromAddress((resource, _, context) => downloadUrl(resource, "logs", context)),
    }),
  }),
});
