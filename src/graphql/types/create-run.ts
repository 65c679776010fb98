import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { type Revision, runs } from "../../rest/api/kinds.ts";
import type { CreatedRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { arg, builder, type Inputs, root, inputArg } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { resolveId, quote, requires } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { MAKES_ANOTHER, payloadOf, targetOf } from "../core/mutations.ts";
import type { ResourceRef } from "../core/fields.ts";
import { BuildJob, Experiment, Group, Job, Project } from "../core/refs.ts";
import { type Address, type Kind, toResource } from "../core/resource.ts";
import { ParameterInput, parametersByName } from "./parameters.ts";
import { buildSpecification, mergeParameters, ONE, specificationOf, yamlOf } from "./specification.ts";
import { checkChange, orTaken } from "./update.ts";

/* Mutations that create runs. The service's document does not describe them. Source: releases 0.2 and 0.4.4 of the server. */

const commonInputs = (t: Inputs, kind: string, tags = "Tags.") => ({
  specification: t.field({
    type: "JSON",
    description: `Specification as an object, with \`kind: ${kind}\`. Exclusive with \`specificationText\`.`,
  }),
  specificationText: t.string({
    description: `Specification as YAML, at most 16,384 characters, with \`kind: ${kind}\`. Exclusive with \`specification\`.`,
  }),
  name: t.string({
    description: "Name: letters, digits, `-` and `_`. A name that is taken is refused, or gets a number.",
  }),
  description: t.string({ description: "Free text." }),
  tags: t.stringList({ description: tags }),
});

type CommonInput = InputShapeFromFields<ReturnType<typeof commonInputs>>;

const CreateExperimentInput = builder.inputType("CreateExperimentInput", {
  description: `A new experiment: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => ({
    ...commonInputs(t, "experiment"),
    parameters: t.field({
      type: [ParameterInput],
      description:
        "Parameters (`declarations` of the specification): they replace those with the same names and add new ones. Others keep their values.",
    }),
    group: t.id({
      description: "Group of the same project to which it is added. Requires `CREATE_EXPERIMENT_GROUP`.",
    }),
  }),
});

const CreateJobInput = builder.inputType("CreateJobInput", {
  description: `A new job: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => commonInputs(t, "job", "Tags. Requires `CREATE_JOB_TAGS`."),
});

const CreateBuildJobInput = builder.inputType("CreateBuildJobInput", {
  description: `A new build job: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => commonInputs(t, "build"),
});

const CreateGroupInput = builder.inputType("CreateGroupInput", {
  description: `A new group: ${ONE}, or \`experiments\`. Omitted and null values are left to the service.`,
  fields: (t) => ({
    ...commonInputs(t, "group"),
    experiments: t.idList({
      description:
        "Experiments of the same project, by id or name, for a group of the type `selection`, which runs nothing. May be empty. Requires `CREATE_GROUP_EXPERIMENTS`.",
    }),
  }),
});

/** Resolves an id to the number by which a request body refers to a record. Throws `InputError` if the record is in another project. */
async function numberIn<R extends object, At extends Address>(
  project: ProjectAddress,
  kind: Kind<R, At>,
  argument: string,
  id: string,
  context: Context,
): Promise<number> {
  const { address } = await targetOf(kind, id, context, argument);
  const { owner, project: name, id: number }: Address = address;
  if (owner !== project.owner || name !== project.project)
    throw new InputError(
      `${argument}: expected an id in the project ${project.owner}.${project.project}, got ${quote(id)}`,
    );
  if (!Number.isSafeInteger(Number(number)))
    throw new InputError(`${argument}: expected an id below 2^53, got ${quote(id)}`);
  return Number(number);
}

type Create = Command<ProjectAddress, CreatedRecord, Revision>;

/** Creates a run in a project. `bodyOf` returns the part of the body that is specific to the kind. */
async function create<R extends RunnableRecord>(
  target: ResourceRef<R, RunAddress>,
  endpoint: Create,
  { project, input }: { readonly project: string; readonly input: CommonInput },
  { session }: Context,
  bodyOf: (address: ProjectAddress) => Promise<Revision> | Revision,
) {
  const { address } = resolveId(Project.kind, "project", project);
  session.server.supported(endpoint);
  checkChange(input);
  const { name, description, tags } = input;
  const values = Object.entries({ name, description, tags, ...(await bodyOf(address)) });
  const body = Object.fromEntries(values.filter(([, value]) => value != null));
  const record = await session.send(endpoint, address, body).catch(orTaken(name));
  // Safe: the keys of a new run's record have the same meaning in each kind of run.
  return toResource(target.kind, { ...address, id: `${record.id}` }, record as Partial<R>);
}

const projectArg = {
  project: arg.id({ required: true, description: "Id or name of the project: `ada.mnist`." }),
};

const describe = (text: string, endpoint: Create): string => `${text} ${MAKES_ANOTHER}${requires(endpoint)}`;

const { experiment, job, build, group } = runs;

root.mutation("createExperiment", {
  type: payloadOf(Experiment),
  description: describe(
    "Creates an experiment, which starts as soon as the cluster has room.",
    experiment.optional.create,
  ),
  args: { ...projectArg, ...inputArg(CreateExperimentInput, "The experiment.") },
  resolve: (_, args, context) =>
    create(Experiment, experiment.optional.create, args, context, async (address) => {
      const { parameters, group: id } = args.input;
      const { parsed, written, requireUnambiguous } = await specificationOf(
        "experiment",
        args.input,
        context,
      );
      const given = parametersByName(parameters, "input.parameters");
      if (given) requireUnambiguous("declarations", "the parameters are sent as values");
      const { server } = context.session;
      // Called before any read: throws if the server would ignore the group.
      if (id != null) server.bodyOf("createExperiment", { group: id });
      const number = id == null ? undefined : await numberIn(address, Group.kind, "input.group", id, context);
      return {
        config: written,
        // The server replaces all parameters of the specification with these.
        declarations: given && mergeParameters(parsed, given),
        ...server.bodyOf("createExperiment", { group: number }),
      };
    }),
});

root.mutation("createJob", {
  type: payloadOf(Job),
  description: describe("Creates a job, which starts as soon as the cluster has room.", job.optional.create),
  args: { ...projectArg, ...inputArg(CreateJobInput, "The job.") },
  resolve: (_, args, context) =>
    create(Job, job.optional.create, args, context, async () => ({
      config: (await specificationOf("job", args.input, context)).written,
      ...context.session.server.bodyOf("createJob", { tags: args.input.tags ?? undefined }),
    })),
});

root.mutation("createBuildJob", {
  type: payloadOf(BuildJob),
  description: describe("Creates a build job, which builds an image.", build.optional.create),
  args: { ...projectArg, ...inputArg(CreateBuildJobInput, "The build job.") },
  resolve: (_, args, context) =>
    create(BuildJob, build.optional.create, args, context, async () => ({
      config: await buildSpecification(args.input, context),
    })),
});

/** Maximum number of experiments in a new selection. */
const MAX_SELECTED = 100;

root.mutation("createGroup", {
  type: payloadOf(Group),
  description: describe(
    "Creates a group, which creates and starts its experiments, or which only selects some.",
    group.optional.create,
  ),
  args: { ...projectArg, ...inputArg(CreateGroupInput, "The group.") },
  resolve: (_, args, context) =>
    create(Group, group.optional.create, args, context, async (address) => {
      const { experiments, specification, specificationText } = args.input;
      if (experiments == null) {
        const { written } = await specificationOf("group", args.input, context);
        // The server accepts only YAML, as a string. JSON is YAML.
        return { content: typeof written === "string" ? written : yamlOf(written) };
      }
      if (specification != null || specificationText != null)
        throw new InputError("input: expected either `experiments` or a specification, got both");
      if (experiments.length > MAX_SELECTED)
        throw new InputError(
          `input.experiments: expected at most ${MAX_SELECTED}, got ${experiments.length}`,
        );
      const { server } = context.session;
      // Called before any read: throws if the server would ignore the experiments.
      server.bodyOf("createGroup", { experiments: [] });
      const numbers = await Promise.all(
        experiments.map((id, index) =>
          numberIn(address, Experiment.kind, `input.experiments[${index}]`, id, context),
        ),
      );
      return {
        group_type: "selection",
        ...server.bodyOf("createGroup", { experiments: [...new Set(numbers)] }),
      };
    }),
});
