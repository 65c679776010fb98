import { experiment } from "../../rest/api/endpoints.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource, unverified } from "../core/resource.ts";
import { number } from "../core/ids.ts";
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

const { property, computed, reference, child, fromAddress } = fieldsOf(Experiment.kind);

const ExperimentJobConnection = connectionOf(
  "ExperimentJob",
  ExperimentJob,
  "A page of jobs of an experiment.",
);

type ExperimentResource = typeof Experiment.$inferType;

/** The address of a job below its experiment. */
const jobAddress = ({ address: { owner, project, id } }: ExperimentResource, job: string) => ({
  owner,
  project,
  experiment: id,
  id: job,
});

async function readJobs(resource: ExperimentResource, args: PageArgs, context: Context) {
  const list = { endpoint: experiment.jobs, address: resource.address };
  const page = await slice(context.session, list, sliceRequest(args, context));
  return connect(page, (record) =>
    toResource(ExperimentJob.kind, jobAddress(resource, `${record.id}`), record),
  );
}

/** Source: service document, "Experiment". */
Experiment.implement({
  description: "One training run.",
  interfaces: [Entity, Trackable, Run, Cloneable, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Experiment this one was restarted, resumed or copied from.",
      ...reference("original", Experiment),
    }),
    experimentGroup: t.field({
      description: "Search that owns this experiment; null for a single experiment.",
      ...reference("experiment_group", Group),
    }),
    buildJob: t.field({ description: "Build that made its image.", ...reference("build_job", BuildJob) }),
    config: t.field(runConfig("What is run and how its image is built.")),
    declarations: t.field({
      type: "JSON",
      description: "Parameters declared for the run. The shape is not stated by the service.",
      ...property("declarations"),
    }),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...property("resources"),
    }),
    lastMetric: t.field({
      type: [MetricValue],
      description: "Latest value of each metric, ordered by name.",
      args: namesArg,
      ...computed(
        ["last_metric"],
        ({ last_metric }, _, { names }: { names?: readonly string[] | null | undefined }) =>
          last_metric ? namedValues(last_metric, names) : null,
      ),
    }),
    lastMetricValue: t.float({
      description: "Latest value of one metric; null when it was never recorded.",
      args: nameArg,
      ...computed(["last_metric"], ({ last_metric }, _, { name }: { name: string }) =>
        valueOf(last_metric, name),
      ),
    }),
    metrics: t.field({
      type: MetricRecordConnection,
      description: "Recorded metrics, in upstream order.",
      args: pageArgs,
      ...child(readMetrics),
    }),
    metricSeries: t.field({
      type: [MetricSeries],
      description: "Metrics turned into one column per name, for charts.",
      args: seriesArgs,
      ...child(readSeries),
    }),
    jobCount: t.int({ description: "Number of jobs.", ...property("num_jobs") }),
    jobs: t.field({
      type: ExperimentJobConnection,
      description: "Jobs (replicas) of the experiment.",
      args: pageArgs,
      ...child(readJobs),
    }),
    job: t.field({
      type: ExperimentJob,
      description: "One job of the experiment. Null with an error when there is none.",
      args: { internalId: t.arg.id({ required: true, description: "Integer id of the job." }) },
      resolve: (resource, { internalId }) =>
        unverified(toResource(ExperimentJob.kind, jobAddress(resource, number("internalId", internalId)))),
    }),
    hasTensorboard: t.boolean({
      description: "Whether a tensorboard is running.",
      ...property("has_tensorboard"),
    }),
    outputsUrl: t.string({
      nullable: false,
      description:
        "URL at this gateway that streams the output files through; send the same Authorization header as for GraphQL. Costs no request.",
      ...fromAddress((resource, _, context) => downloadUrl(resource, "outputs", context)),
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
