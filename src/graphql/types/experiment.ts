import { experiment } from "../../rest/api/endpoints.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { handle } from "../core/resource.ts";
import { number } from "../core/ids.ts";
import { vouchFor } from "../core/prefetch.ts";
import { lookUp } from "../core/look-up.ts";
import { downloadUrl } from "./logs.ts";
import {
  MetricRecordConnection,
  MetricSeries,
  MetricValue,
  nameArg,
  namedValues,
  namesArg,
  readMetrics,
  readSeries,
  seriesArgs,
  valueOf,
} from "./metrics.ts";
import {
  BuildJob,
  Cloneable,
  Entity,
  Experiment,
  ExperimentJob,
  Group,
  Loggable,
  Run,
  Trackable,
} from "../core/refs.ts";
import { recordMetric } from "../operations/record-metric.ts";
import { runConfig } from "./run-config.ts";
import { act, clone, mutations, remove, update } from "../operations/mutations.ts";

const { value, derived, link, below, known } = fieldsOf(Experiment.kind);

const ExperimentJobConnection = connectionOf(
  "ExperimentJob",
  ExperimentJob,
  "A page of jobs of an experiment.",
);

type Thing = typeof Experiment.$inferType;

/** The address of a job below its experiment. */
const jobOf = ({ at: { owner, project, id } }: Thing, job: string) => ({
  owner,
  project,
  experiment: id,
  id: job,
});

async function readJobs(thing: Thing, args: PageArgs, context: Context) {
  const list = { row: experiment.jobs, at: thing.at };
  const page = await slice(context.session, list, sliceRequest(args, context));
  return connect(page, (row) => handle(ExperimentJob.kind, jobOf(thing, `${row.id}`), row));
}

/** Source: service document, "Experiment". */
Experiment.implement({
  description: "One training run.",
  interfaces: [Entity, Trackable, Run, Cloneable, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Experiment this one was restarted, resumed or copied from.",
      ...link("original", Experiment),
    }),
    experimentGroup: t.field({
      description: "Search that owns this experiment; null for a single experiment.",
      ...link("experiment_group", Group),
    }),
    buildJob: t.field({ description: "Build that made its image.", ...link("build_job", BuildJob) }),
    config: t.field(runConfig("What is run and how its image is built.")),
    declarations: t.field({
      type: "JSON",
      description: "Parameters declared for the run. The shape is not stated by the service.",
      ...value("declarations"),
    }),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...value("resources"),
    }),
    lastMetric: t.field({
      type: [MetricValue],
      description: "Latest value of each metric, ordered by name.",
      args: namesArg,
      ...derived(
        ["last_metric"],
        ({ last_metric }, _, { names }: { names?: readonly string[] | null | undefined }) =>
          last_metric ? namedValues(last_metric, names) : null,
      ),
    }),
    lastMetricValue: t.float({
      description: "Latest value of one metric; null when it was never recorded.",
      args: nameArg,
      ...derived(["last_metric"], ({ last_metric }, _, { name }: { name: string }) =>
        valueOf(last_metric, name),
      ),
    }),
    metrics: t.field({
      type: MetricRecordConnection,
      description: "Recorded metrics, in upstream order.",
      args: pageArgs,
      ...below(readMetrics),
    }),
    metricSeries: t.field({
      type: [MetricSeries],
      description: "Metrics turned into one column per name, for charts.",
      args: seriesArgs,
      ...below(readSeries),
    }),
    jobCount: t.int({ description: "Number of jobs.", ...value("num_jobs") }),
    jobs: t.field({
      type: ExperimentJobConnection,
      description: "Jobs (replicas) of the experiment.",
      args: pageArgs,
      ...below(readJobs),
    }),
    job: t.field({
      type: ExperimentJob,
      description: "One job of the experiment. Null with an error when there is none.",
      args: { internalId: t.arg.id({ required: true, description: "Integer id of the job." }) },
      resolve: async (thing, { internalId }, context, info) =>
        vouchFor(handle(ExperimentJob.kind, jobOf(thing, number("internalId", internalId))), context, info),
    }),
    hasTensorboard: t.boolean({
      description: "Whether a tensorboard is running.",
      ...value("has_tensorboard"),
    }),
    outputsUrl: t.string({
      nullable: false,
      description:
        "URL at this gateway that streams the output files through; send the same Authorization header as for GraphQL. Costs no request.",
      ...known((thing, _, context) => downloadUrl(thing, "outputs", context)),
    }),
  }),
});

builder.queryField("experiment", (t) => t.field(lookUp(Experiment, "An experiment.")));

mutations({
  updateExperiment: update(Experiment, experiment.update, "Change an experiment."),
  deleteExperiment: remove(Experiment, experiment.delete, "Delete an experiment."),
  restartExperiment: clone(Experiment, experiment.restart, "Run an experiment anew, as a new record."),
  resumeExperiment: clone(Experiment, experiment.resume, "Continue an experiment, as a new record."),
  copyExperiment: clone(Experiment, experiment.copy, "Copy an experiment, as a new record."),
  stopExperiment: act(
    Experiment,
    experiment.stop,
    "Ask the service to stop an experiment. Stopping takes time: the status read afterwards can still be the old one.",
  ),
  startExperimentTensorboard: act(
    Experiment,
    experiment.startTensorboard,
    "Start the tensorboard of an experiment. Repeating it can start a second one.",
  ),
  stopExperimentTensorboard: act(
    Experiment,
    experiment.stopTensorboard,
    "Stop the tensorboard of an experiment.",
  ),
  createExperimentMetric: recordMetric(experiment.createMetric, "Record metric values of an experiment."),
  bookmarkExperiment: act(Experiment, experiment.bookmark, "Bookmark an experiment for the caller."),
  unbookmarkExperiment: act(
    Experiment,
    experiment.unbookmark,
    "Remove the caller's bookmark from an experiment.",
  ),
});
