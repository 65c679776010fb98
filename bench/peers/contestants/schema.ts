import SchemaBuilder from "@pothos/core";
import type {
  Build,
  Experiment,
  ExperimentJob,
  Group,
  Machine,
  MetricRecord,
  Page,
  StatusRecord,
} from "../records.ts";
import { buildPath, experimentPath, experimentsPath, groupPath, jobsPath, machinePath } from "./service.ts";

/*
 * The part of Rungraph's schema that the operations select, written in the usual way: one resolver per field, and one loader of records in
 * the context. Yoga, Mercurius and Apollo Server serve it.
 */

export interface Context {
  readonly load: (path: string) => Promise<unknown>;
}

const builder = new SchemaBuilder<{
  Context: Context;
  Scalars: { JSON: { Input: unknown; Output: unknown } };
  DefaultFieldNullability: true;
}>({});

builder.scalarType("JSON", { serialize: (value) => value });

// Safe: each path has one type of body.
const load = <Body>({ load: read }: Context, path: string) => read(path) as Promise<Body>;

const RunStatus = builder.enumType("RunStatus", {
  values: ["CREATED", "BUILDING", "SCHEDULED", "STARTING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"],
});
const statusOf = (status: string) => status.toUpperCase() as typeof RunStatus.$inferType;

const User = builder.objectRef<string>("User").implement({
  fields: (t) => ({ username: t.string({ resolve: (username) => username }) }),
});
const Project = builder.objectRef<string>("Project").implement({
  fields: (t) => ({ uniqueName: t.string({ resolve: (reference) => reference }) }),
});
const Raw = builder.objectRef<object>("Raw").implement({
  fields: (t) => ({ raw: t.field({ type: "JSON", resolve: (value) => value }) }),
});

const MetricValue = builder.objectRef<{ name: string; value: number }>("MetricValue").implement({
  fields: (t) => ({ name: t.exposeString("name"), value: t.exposeFloat("value") }),
});
const named = (values: Readonly<Record<string, number>>) =>
  Object.entries(values)
    .map(([name, value]) => ({ name, value }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

const Node = builder.objectRef<Machine>("Node").implement({
  fields: (t) => ({
    name: t.exposeString("name"),
    memory: t.exposeFloat("memory"),
    cpu: t.exposeFloat("cpu"),
    gpuCount: t.exposeInt("n_gpus"),
  }),
});
/** The machine of a build. Operations select only its name. */
const NodeReference = builder.objectRef<string>("NodeReference").implement({
  fields: (t) => ({ name: t.string({ resolve: (name) => name }) }),
});

const StatusRow = builder.objectRef<StatusRecord>("StatusRecord").implement({
  fields: (t) => ({
    internalId: t.exposeID("id"),
    status: t.field({ type: RunStatus, resolve: ({ status }) => statusOf(status) }),
    message: t.exposeString("message"),
    createdAt: t.exposeString("created_at"),
  }),
});
const MetricRow = builder.objectRef<MetricRecord>("MetricRecord").implement({
  fields: (t) => ({
    internalId: t.exposeID("id"),
    createdAt: t.exposeString("created_at"),
    values: t.field({ type: [MetricValue], resolve: ({ values }) => named(values) }),
  }),
});
const JobRow = builder.objectRef<ExperimentJob>("ExperimentJob").implement({
  fields: (t) => ({
    internalId: t.exposeID("id"),
    uniqueName: t.exposeString("unique_name"),
    role: t.exposeString("role"),
    status: t.field({ type: RunStatus, resolve: ({ last_status }) => statusOf(last_status) }),
    nodeScheduled: t.field({
      type: Node,
      resolve: ({ node_scheduled }, _, context) => load<Machine>(context, machinePath(node_scheduled)),
    }),
  }),
});

const StatusConnection = builder.objectRef<Page<StatusRecord>>("StatusRecordConnection").implement({
  fields: (t) => ({ nodes: t.expose("results", { type: [StatusRow] }) }),
});
const MetricConnection = builder.objectRef<Page<MetricRecord>>("MetricRecordConnection").implement({
  fields: (t) => ({ nodes: t.expose("results", { type: [MetricRow] }) }),
});
const JobConnection = builder.objectRef<Page<ExperimentJob>>("ExperimentJobConnection").implement({
  fields: (t) => ({ nodes: t.expose("results", { type: [JobRow] }) }),
});

const Run = builder.interfaceRef<Experiment | Build | Group>("Run").implement({
  fields: (t) => ({
    internalId: t.exposeID("id"),
    uuid: t.exposeString("uuid"),
    name: t.exposeString("name"),
    uniqueName: t.exposeString("unique_name"),
    user: t.field({ type: User, resolve: ({ user }) => user }),
    description: t.exposeString("description"),
    createdAt: t.exposeString("created_at"),
    updatedAt: t.exposeString("updated_at"),
    startedAt: t.exposeString("started_at"),
    finishedAt: t.exposeString("finished_at"),
    status: t.field({ type: RunStatus, resolve: ({ last_status }) => statusOf(last_status) }),
    project: t.field({ type: Project, resolve: ({ project }) => project }),
    isBookmarked: t.exposeBoolean("bookmarked"),
  }),
});

const BuildJob = builder.objectRef<Build>("BuildJob").implement({
  interfaces: [Run],
  fields: (t) => ({
    config: t.field({ type: Raw, resolve: ({ config }) => config }),
    nodeScheduled: t.field({ type: NodeReference, resolve: ({ node_scheduled }) => node_scheduled }),
    jobCount: t.exposeInt("num_jobs"),
    experimentCount: t.exposeInt("num_experiments"),
    dockerfile: t.exposeString("dockerfile"),
    commit: t.exposeString("commit"),
  }),
});

const ExperimentCounts = builder.objectRef<Group>("ExperimentCounts").implement({
  fields: (t) => ({
    total: t.exposeInt("num_experiments"),
    succeeded: t.exposeInt("num_succeeded_experiments"),
  }),
});
const GroupType = builder.objectRef<Group>("Group").implement({
  interfaces: [Run],
  fields: (t) => ({
    concurrency: t.exposeInt("concurrency"),
    searchAlgorithm: t.exposeString("search_algorithm"),
    currentIteration: t.exposeInt("current_iteration"),
    content: t.exposeString("content"),
    hptuning: t.field({ type: Raw, resolve: ({ hptuning }) => hptuning }),
    experimentCounts: t.field({ type: ExperimentCounts, resolve: (group) => group }),
  }),
});

const ExperimentType = builder.objectRef<Experiment>("Experiment").implement({
  interfaces: [Run],
  fields: (t) => ({
    jobCount: t.exposeInt("num_jobs"),
    latestMetrics: t.field({ type: [MetricValue], resolve: ({ last_metric }) => named(last_metric) }),
    config: t.field({ type: Raw, resolve: ({ config }) => config }),
    buildJob: t.field({
      type: BuildJob,
      resolve: ({ build_job }, _, context) => load<Build>(context, buildPath(build_job)),
    }),
    experimentGroup: t.field({
      type: GroupType,
      resolve: ({ experiment_group }, _, context) => load<Group>(context, groupPath(experiment_group)),
    }),
    statuses: t.field({
      type: StatusConnection,
      resolve: ({ unique_name }, _, context) =>
        load<Page<StatusRecord>>(context, `${experimentPath(unique_name)}/statuses`),
    }),
    metrics: t.field({
      type: MetricConnection,
      resolve: ({ unique_name }, _, context) =>
        load<Page<MetricRecord>>(context, `${experimentPath(unique_name)}/metrics`),
    }),
    jobs: t.field({
      type: JobConnection,
      args: { first: t.arg.int() },
      resolve: ({ unique_name }, { first }, context) =>
        load<Page<ExperimentJob>>(context, jobsPath(unique_name, first)),
    }),
  }),
});

const ExperimentConnection = builder.objectRef<Page<Experiment>>("ExperimentConnection").implement({
  fields: (t) => ({ nodes: t.expose("results", { type: [ExperimentType] }) }),
});
builder.objectField(Project, "experiments", (t) =>
  t.field({
    type: ExperimentConnection,
    args: { first: t.arg.int({ required: true }) },
    resolve: (reference, { first }, context) =>
      load<Page<Experiment>>(context, experimentsPath(reference, first)),
  }),
);

builder.queryType({
  fields: (t) => ({
    project: t.field({
      type: Project,
      args: { id: t.arg.id({ required: true }) },
      resolve: (_, { id }) => String(id),
    }),
    experiment: t.field({
      type: ExperimentType,
      args: { id: t.arg.id({ required: true }) },
      resolve: (_, { id }, context) => load<Experiment>(context, experimentPath(String(id))),
    }),
  }),
});

export const schema = builder.toSchema();
