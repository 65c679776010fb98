import { runs } from "../../rest/api/kinds.ts";
import { slice } from "../../rest/session/pages.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
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
  Entity,
  Experiment,
  ExperimentJob,
  Group,
  Loggable,
  Run,
  Trackable,
} from "../core/refs.ts";
import { codeReference } from "./code-reference.ts";
import { declaration, declarations, type NamesArgs } from "./declarations.ts";
import { outputFiles } from "./output-files.ts";
import { runConfig } from "./run-config.ts";
import { clones } from "./reverse-links.ts";
import { cloneFields } from "./run.ts";
import { dataReferences, outputsUrl, readme, resources } from "./workload.ts";

const { endpoints } = runs.experiment;
const { property, computed, reference, child } = fieldsOf(Experiment.kind);

const ExperimentJobConnection = connectionOf(ExperimentJob, "A page of jobs of an experiment.");

type ExperimentResource = typeof Experiment.$inferType;

async function readJobs(resource: ExperimentResource, args: PageArgs, context: Context) {
  const { owner, project, id } = resource.address;
  const list = { endpoint: endpoints.jobs, address: resource.address };
  const page = await slice(context.session, list, sliceRequest(args, context));
  return connect(page, (record) =>
    toResource(ExperimentJob.kind, { owner, project, experiment: id, id: `${record.id}` }, record),
  );
}

/** Source: service document, "Experiment". */
Experiment.implement({
  description: "A training run.",
  interfaces: [Entity, Trackable, Run, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Experiment that it was restarted, resumed or copied from.",
      ...reference("original", Experiment),
    }),
    ...cloneFields(t),
    clones: t.field(clones),
    experimentGroup: t.field({ description: "Its group, if any.", ...reference("experiment_group", Group) }),
    buildJob: t.field({ description: "Build of its image.", ...reference("build_job", BuildJob) }),
    config: t.field(runConfig("What runs and how its image is built.")),
    declarations: t.field(declarations),
    declaration: t.field(declaration),
    resources: t.field(resources),
    codeReference: t.field(codeReference),
    dataReferences: t.field(dataReferences),
    runEnvironment: t.field({
      type: "JSON",
      description: "Environment, as the code of the run reported it: operating system, packages.",
      ...property("run_env"),
    }),
    framework: t.string({ description: "Framework, such as `tensorflow`.", ...property("framework") }),
    readme: t.string(readme),
    latestMetrics: t.field({
      type: [MetricValue],
      description: "Latest value of each metric, by name.",
      args: namesArg,
      ...computed(["last_metric"], ({ last_metric }, _, { names }: NamesArgs) =>
        last_metric ? namedValues(last_metric, names) : null,
      ),
    }),
    lastMetricValue: t.float({
      description: "Latest value of one metric.",
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
      description: "All values of each metric, for charts.",
      args: seriesArgs,
      ...child(readSeries),
    }),
    jobCount: t.int({ description: "Number of jobs.", ...property("num_jobs") }),
    jobs: t.field({
      type: ExperimentJobConnection,
      description: "Its jobs (replicas).",
      args: pageArgs,
      ...child(readJobs),
    }),
    hasTensorboard: t.boolean({ description: "Whether a TensorBoard runs.", ...property("has_tensorboard") }),
    outputsUrl: t.string(outputsUrl),
    outputFiles: t.field(outputFiles),
  }),
});
