import { runs } from "../../rest/api/kinds.ts";
import { isObject, valueAt } from "../../rest/api/record.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { GatewayError } from "../../errors.ts";
import type { CodeReferenceRecord, ExperimentRecord } from "../../rest/api/records.ts";
import { connectionOf, type PageArgs, pageArgs, readConnection } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { nullIfMissing, toResource } from "../core/resource.ts";
import {
  Experiment,
  ExperimentJob,
  type ExperimentResource,
  Group,
  jobOf,
  resourceType,
} from "../core/refs.ts";
import { arg, builder, computedFromOrNull, root, exposedOrNull } from "../core/builder.ts";
import { lookUp, requires, withId } from "../core/ids.ts";
import { cloned, MAKES_ANOTHER, payloadOf, targetOf } from "../core/mutations.ts";
import { createSorter, namedIn, type NamesArgs, namesArg, toNamed } from "./metrics.ts";
import { ParameterInput, parametersByName, ParameterValue } from "./parameters.ts";
import { nodeScheduled, resources, cloneableFields } from "./shared-run-fields.ts";
import { type IsMatch, isInRows, valueOf as rowValue } from "./scan.ts";
import { runList } from "./run-list.ts";

const { endpoints, optional } = runs.experiment;
const { property, computed, reference, child } = fieldsOf(Experiment.kind);

const ExperimentJobConnection = connectionOf(ExperimentJob, "A page of jobs of an experiment.");

function readJobs({ address }: ExperimentResource, args: PageArgs, context: Context) {
  const list = { endpoint: endpoints.jobs, address, sortedBy: ["created_at"], areTiesSorted: true };
  return readConnection(list, args, (record) => jobOf(address, record), context);
}

const CodeReference = builder.objectRef<CodeReferenceRecord>("CodeReference").implement({
  description: "The version of the code that an experiment ran.",
  fields: (t) => ({
    // The service sends empty strings for an experiment without code.
    branch: t.field(computedFromOrNull("String", "Branch.", ({ branch }) => branch || null)),
    commit: t.field(computedFromOrNull("String", "Commit that ran.", ({ commit }) => commit || null)),
    isDirty: t.boolean(exposedOrNull("is_dirty", "Whether there were uncommitted changes.")),
    url: t.field(
      computedFromOrNull("String", "URL of the external repository.", ({ git_url }) => git_url || null),
    ),
  }),
});

const sortParameters = createSorter();

/** The parameters of a record; null if it has none. Throws `GatewayError` if they are not an object. */
function parametersIn({ declarations }: Partial<ExperimentRecord>) {
  if (declarations == null || isObject(declarations)) return declarations ?? null;
  const type = Array.isArray(declarations) ? "list" : typeof declarations;
  throw new GatewayError(
    "UPSTREAM_BAD_RESPONSE",
    `declarations: expected an object of names and values, got a ${type} from the service.`,
  );
}

/**
 * Restricts a list to the clones of an experiment. The gateway scans the list, because servers cannot filter by `original`. Throws
 * `GatewayError` if list items lack this key.
 */
function clonesOf({ owner, project, id }: RunAddress, { server }: Context) {
  if (!isInRows(server, runs.experiment.records, "original")) throw notOffered("clones of experiments");
  const isMatch: IsMatch = function* (row) {
    yield;
    const name = rowValue(row, "original");
    const original = typeof name === "string" ? Experiment.kind.parseName(name) : null;
    return original?.id === id && original.owner === owner && original.project === project;
  };
  return { conditions: [], isMatch, name: `clones of ${id}` };
}

/** Source: service document, "Experiment". */
resourceType(Experiment, "A training run.", (t) => ({
  ...cloneableFields(t, Experiment),
  clones: t.field(
    runList(
      Experiment,
      "Experiments that were restarted, resumed or copied from this one, found by a scan of the project: see `ListScan`.",
      { narrowedTo: clonesOf },
    ),
  ),
  experimentGroup: t.field(reference("experiment_group", Group, "Its group, if any.")),
  parameters: t.field({
    type: [ParameterValue],
    args: namesArg,
    ...computed(
      ["declarations"],
      "Parameters, by name; null if it has none. The service calls them declarations.",
      (record, _, args: NamesArgs, context) => {
        const parameters = parametersIn(record);
        return parameters && namedIn(parameters, { ...args, toNamed, sort: sortParameters }, context);
      },
    ),
  }),
  parameter: t.field({
    type: ParameterValue,
    args: {
      name: t.arg.string({
        required: true,
        description: "Name of the parameter; `model.lr` can also lead into an object.",
      }),
    },
    ...computed(
      ["declarations"],
      "One parameter; null if it has none of this name.",
      (record, _, { name }: { readonly name: string }) => {
        const value = valueAt(parametersIn(record), name);
        return value === undefined ? null : toNamed(name, value);
      },
    ),
  }),
  codeReference: t.field({
    type: CodeReference,
    ...child(
      `Version of its code. Costs an extra request.${requires(optional.codeReference)}`,
      async (resource, _, { session }) => {
        const read = session.read(optional.codeReference, resource.address);
        const record = await nullIfMissing(resource, read, session);
        return record?.branch || record?.commit || record?.head || record?.git_url ? record : null;
      },
      (record) => record !== null,
    ),
  }),
  runEnvironment: t.field({
    type: "JSON",
    ...property("run_env", "Environment, as the run reported it: system, packages."),
  }),
  framework: t.string(property("framework", "Framework, such as `tensorflow`.")),
  jobCount: t.int(property("num_jobs", "Number of jobs.")),
  jobs: t.field({
    type: ExperimentJobConnection,
    args: pageArgs,
    ...child("Its jobs (replicas).", readJobs),
  }),
  hasTensorboard: t.boolean(property("has_tensorboard", "Whether a TensorBoard runs.")),
}));

const RestartExperimentInput = builder.inputType("RestartExperimentInput", {
  description: "Changes to the source's values. Omitted and null ones stay.",
  fields: (t) => ({
    description: t.string({ description: "Description. Requires `RESTART_DESCRIPTION`." }),
    parameters: t.field({
      type: [ParameterInput],
      description:
        "Parameters, merged with those of the source: others keep their values. Requires `RESTART_PARAMETERS`.",
    }),
    updateCode: t.boolean({
      description: "Whether to run the latest code. Requires `RESTART_UPDATE_CODE`.",
    }),
  }),
});

root.mutation("restartExperiment", {
  type: payloadOf(Experiment),
  description: `Restarts an experiment as a new record, which starts. ${MAKES_ANOTHER}`,
  args: {
    ...withId(Experiment),
    input: arg.field({ type: RestartExperimentInput, description: "Values to change." }),
  },
  resolve: async (_, { id, input }, context) => {
    const { session } = context;
    const parameters = parametersByName(input?.parameters, "input.parameters");
    const source = await targetOf(Experiment.kind, id, context);
    const given = Object.entries({ ...input, parameters }).filter(([, value]) => value !== null);
    const body = session.server.bodyOf("restart", Object.fromEntries(given));
    // A restart without input is sent without a body.
    const sent = Object.keys(body).length === 0 ? undefined : body;
    return cloned(source, await session.send(endpoints.restart, source.address, sent));
  },
});

const ofJob = fieldsOf(ExperimentJob.kind);

/** Source: service document, "Experiment job record". */
resourceType(ExperimentJob, "A job (replica) of an experiment. Not a `Job`.", (t) => ({
  role: t.string(ofJob.property("role", "Role, such as `master`.")),
  experiment: t.field({
    type: Experiment,
    ...ofJob.fromAddress("Its experiment.", ({ address: { owner, project, experiment: id } }) =>
      toResource(Experiment.kind, { owner, project, id }),
    ),
    nullable: true,
  }),
  resources: t.field(resources),
  nodeScheduled: t.field(nodeScheduled),
}));

root.query("experimentJob", lookUp(ExperimentJob, "A job of an experiment by its id."));
