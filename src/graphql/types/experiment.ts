import { runs } from "../../rest/api/kinds.ts";
import { slice } from "../../rest/session/pages.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource, unverified } from "../core/resource.ts";
import { number } from "../core/ids.ts";
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
import { codeReference } from "./code-reference.ts";
import { declaration, declarationValues } from "./declarations.ts";
import { outputFiles } from "./output-files.ts";
import { runConfig } from "./run-config.ts";
import { mutations } from "../operations/mutations.ts";
import { restart } from "../operations/restart.ts";
import { clones } from "./reverse-links.ts";
import { backend, dataReferences, outputsUrl, readme, resources } from "./workload.ts";

const { endpoints } = runs.experiment;
const { property, computed, reference, child } = fieldsOf(Experiment.kind);

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
  const list = { endpoint: endpoints.jobs, address: resource.address };
  const page = await slice(context.session, list, sliceRequest(args, context));
  return connect(page, (record) =>
    toResource(ExperimentJob.kind, jobAddress(resource, `${record.id}`), record),
  );
}

const latestMetrics = {
  type: [MetricValue] satisfies [object],
  description:
    "Latest value of each metric, ordered by name: known servers merge each metric record into it, so that a name keeps its value until a record has it again.",
  args: namesArg,
  ...computed(
    ["last_metric"],
    ({ last_metric }, _, { names }: { names?: readonly string[] | null | undefined }) =>
      last_metric ? namedValues(last_metric, names) : null,
  ),
};

/** Source: service document, "Experiment". */
Experiment.implement({
  description: "A training run.",
  interfaces: [Entity, Trackable, Run, Cloneable, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Experiment that this one was restarted, resumed or copied from.",
      ...reference("original", Experiment),
    }),
    clones: t.field(clones),
    experimentGroup: t.field({
      description: "Group that the experiment belongs to. Null if it belongs to none.",
      ...reference("experiment_group", Group),
    }),
    buildJob: t.field({ description: "Build of its image.", ...reference("build_job", BuildJob) }),
    config: t.field(runConfig("What runs and how its image is built.")),
    declarations: t.field({
      type: "JSON",
      description: "Parameters of the run. The service does not document the shape.",
      ...property("declarations"),
    }),
    declaration: t.field(declaration),
    declarationValues: t.field(declarationValues),
    resources: t.field(resources),
    codeReference: t.field(codeReference),
    dataReferences: t.field(dataReferences),
    runEnvironment: t.field({
      type: "JSON",
      description:
        "Environment in which the experiment ran, as its code reported it: operating system, packages and others. The service does not document the shape. Null if nothing was reported.",
      ...property("run_env"),
    }),
    framework: t.string({
      description: "Framework of the training, such as `tensorflow`. Null if none is known.",
      ...property("framework"),
    }),
    backend: t.string(backend),
    readme: t.string(readme),
    latestMetrics: t.field(latestMetrics),
    lastMetric: t.field({
      ...latestMetrics,
      deprecationReason: "Use `latestMetrics`, which is the same. Removed after 2027-06-30.",
    }),
    lastMetricValue: t.float({
      description: "Latest value of one metric. Null if it was never recorded.",
      args: nameArg,
      ...computed(["last_metric"], ({ last_metric }, _, { name }: { name: string }) =>
        valueOf(last_metric, name),
      ),
    }),
    metrics: t.field({
      type: MetricRecordConnection,
      description: "Metric records, in the order of the service.",
      args: pageArgs,
      ...child(readMetrics),
    }),
    metricSeries: t.field({
      type: [MetricSeries],
      description: "Metrics as one series per name, for charts.",
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
      description: "One job of the experiment. Null with an error if it does not exist.",
      args: { internalId: t.arg.id({ required: true, description: "Integer id of the job." }) },
      resolve: (resource, { internalId }) =>
        unverified(toResource(ExperimentJob.kind, jobAddress(resource, number("internalId", internalId)))),
    }),
    hasTensorboard: t.boolean({
      description: "Whether a TensorBoard is running.",
      ...property("has_tensorboard"),
    }),
    outputsUrl: t.string(outputsUrl),
    outputFiles: t.field(outputFiles),
  }),
});

mutations({
  restartExperiment: restart(endpoints.restart, "Restarts an experiment as a new record."),
  createExperimentMetric: recordMetric(endpoints.createMetric, "Records metric values of an experiment."),
});
