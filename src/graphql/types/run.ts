import type { CloneableRecord, RunnableRecord, TrackedRecord } from "../../rest/api/records.ts";
import { runKinds } from "../../rest/api/kinds.ts";
import { either } from "../../rest/api/kind.ts";
import { pageArgs } from "../core/connection.ts";
import { fieldsOf } from "../core/fields.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { idOf } from "../core/ids.ts";
import { kinds } from "../core/kinds.ts";
import { downloadUrl, logArgs, LogChunk, readLog } from "./logs.ts";
import { Cloneable, Entity, Loggable, Project, Run, Trackable, User } from "../core/refs.ts";
import { durationSeconds, isFinished, phaseOf, RunPhaseEnum, RunStatusEnum, statusOf } from "./status.ts";
import { readStatuses, StatusRecordConnection } from "./status-record.ts";
import { builder } from "../core/builder.ts";

const STRATEGIES = {
  RESTART: { description: "Run again from the beginning." },
  RESUME: { description: "Continued where the original ended." },
  COPY: { description: "Run again with a copy of the original's outputs." },
  OTHER: { description: "A way that this schema does not know. See `rawCloningStrategy`." },
} as const;

const CloningStrategyEnum = builder.enumType("CloningStrategy", {
  description:
    "How a run was created from another one. Values can be added in a minor release: clients need a default branch.",
  values: STRATEGIES,
});

/** Converts a cloning strategy to the enum: unknown text is `OTHER`. Null for a run that is not a clone. */
function cloningStrategyOf(raw: string | null | undefined): keyof typeof STRATEGIES | null {
  if (!raw) return null;
  const name = raw.toUpperCase();
  return Object.hasOwn(STRATEGIES, name) ? (name as keyof typeof STRATEGIES) : "OTHER";
}

/*
 * Interfaces and fields that all kinds of run share. Differences between kinds are in the rows of `kinds`.
 */

const resolveType = ({ kind }: Resource) => kind.name;

const entity = fieldsOf();

Entity.implement({
  description:
    "An object with a global id, as in Relay's global object identification. Relay's own name for it is taken by machines here; the setting `TYPE_NAMES` can change that.",
  resolveType,
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description:
        "Global id: opaque, stable and unique across all types. Use it as cache key, as argument of `entity(id:)` and as federation key.",
      ...entity.fromAddress((resource) => idOf(resource)),
    }),
  }),
});

const tracked = fieldsOf<TrackedRecord>();

Trackable.implement({
  description: "An object with a status and a status history: a run, or a job of an experiment.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    internalId: t.id({
      nullable: false,
      description: "Integer id in the tracking service, as a string. Unique only within its kind.",
      ...tracked.fromAddress(({ address }) => address["id"] ?? ""),
    }),
    uuid: t.string({
      description: "Identifier in the tracking service: 32 hexadecimal digits.",
      ...tracked.property("uuid"),
    }),
    uniqueName: t.string({
      nullable: false,
      description:
        "Name that the service uses, such as `alice.mnist.42`. An experiment and a group can have the same name.",
      ...tracked.computed(
        ["unique_name"],
        ({ unique_name }, { kind, address }) => unique_name ?? kind.formatName(address),
      ),
    }),
    status: t.field({
      type: RunStatusEnum,
      nullable: false,
      description: "Latest status. A status that this schema does not know is `OTHER`.",
      ...tracked.computed(["last_status"], ({ last_status }) => statusOf(last_status)),
    }),
    rawStatus: t.string({
      description: "Latest status, as the service spells it.",
      ...tracked.property("last_status"),
    }),
    phase: t.field({
      type: RunPhaseEnum,
      nullable: false,
      description:
        "Coarse stage, derived from status and timestamps. Use it to choose a colour and to end polling.",
      ...tracked.computed(["last_status", "started_at", "finished_at"], phaseOf),
    }),
    isFinished: t.boolean({
      nullable: false,
      description: "Whether the run has reached a final phase.",
      ...tracked.computed(["last_status", "started_at", "finished_at"], isFinished),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "Time of creation.",
      ...tracked.property("created_at"),
    }),
    updatedAt: t.field({
      type: "DateTime",
      description: "Time of the last change.",
      ...tracked.property("updated_at"),
    }),
    startedAt: t.field({
      type: "DateTime",
      description: "Time at which the run started. Null if it has not started.",
      ...tracked.property("started_at"),
    }),
    finishedAt: t.field({
      type: "DateTime",
      description: "Time at which the run ended. Null if it has not ended.",
      ...tracked.property("finished_at"),
    }),
    durationSeconds: t.float({
      description:
        "Duration in seconds: from start to end, or until now if it has not ended. Null before the start.",
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
  description: `A run of a project: ${either(runKinds.map(({ one }, index) => (index === 0 ? one : one.replace(/^an? /, ""))))}.`,
  interfaces: [Entity, Trackable],
  resolveType,
  fields: (t) => ({
    name: t.string({
      description: "Display name. Null if none was given. The update mutation changes it.",
      ...runnable.property("name"),
    }),
    description: t.string({
      description: "Free text. The update mutation changes it.",
      ...runnable.property("description"),
    }),
    user: t.field({ description: "Owner of the record.", ...runnable.reference("user", User) }),
    project: t.field({
      type: Project,
      nullable: false,
      description: "Project of the record. Derived from the address: costs no upstream request.",
      ...runnable.fromAddress(({ address: { owner = "", project = "" } }) =>
        toResource(kinds.project, { owner, project }),
      ),
    }),
    tags: t.stringList({
      description:
        "Labels. Null if the service sends null or anything but strings. The update mutation changes them.",
      ...runnable.property("tags"),
    }),
    bookmarked: t.boolean({
      description: "Whether the caller bookmarked the record.",
      ...runnable.property("bookmarked"),
    }),
  }),
});

const cloneable = fieldsOf<CloneableRecord>();

/** By the original, which items of lists have: a record without one is no clone. */
const isClone = ({ is_clone, original }: Partial<CloneableRecord>): boolean | null =>
  is_clone ?? (original === undefined ? null : original !== null);

Cloneable.implement({
  description: "A run that can be restarted, resumed and copied, and may itself be the result of that.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    isClone: t.boolean({
      description:
        "Whether the record was created by a restart, resume or copy. Servers forget it when the original is deleted.",
      ...cloneable.computed(["original"], isClone),
    }),
    cloningStrategy: t.field({
      type: CloningStrategyEnum,
      description:
        "How the record was created from its original. Null if it is not a clone, or if the server does not report it. A way that this schema does not know is `OTHER`.",
      ...cloneable.computed(["cloning_strategy"], ({ cloning_strategy }) =>
        cloningStrategyOf(cloning_strategy),
      ),
    }),
    rawCloningStrategy: t.string({
      description: "How the record was created from its original, as the service spells it.",
      ...cloneable.property("cloning_strategy"),
    }),
    original: t.field({
      type: Run,
      description: "Run that this one was restarted, resumed or copied from.",
    }),
  }),
});

const loggable = fieldsOf();

Loggable.implement({
  description: "A run with a log.",
  interfaces: [Entity],
  resolveType,
  fields: (t) => ({
    logs: t.field({
      type: LogChunk,
      description: "A window of the log. Null if no log was written.",
      args: logArgs,
      ...loggable.child(readLog),
    }),
    logsUrl: t.string({
      nullable: false,
      description:
        "URL at this gateway that streams the whole log. Requires the same `Authorization` header as GraphQL. Costs no upstream request.",
      ...loggable.fromAddress((resource, _, context) => downloadUrl(resource, "logs", context)),
    }),
  }),
});
