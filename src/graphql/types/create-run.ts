import { randomUUID } from "node:crypto";
import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { type Revision, runs } from "../../rest/api/kinds.ts";
import { isObject } from "../../rest/api/record.ts";
import type { CreatedRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { parseYaml } from "../../rest/api/run-config.ts";
import { arg, builder, type Inputs, root } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { resolveId, quote, requires } from "../core/ids.ts";
import { MAKES_ANOTHER, payloadOf, targetOf } from "../core/mutations.ts";
import type { ResourceRef } from "../core/fields.ts";
import { BuildJob, Experiment, Group, Job, Project } from "../core/refs.ts";
import { type Address, type Kind, toResource } from "../core/resource.ts";
import { checkChange, orTaken } from "./update.ts";

/*
 * Mutations that create runs. Source: releases 0.2 and 0.4.4 of the server; the service's document has none. The server ignores, or crashes
 * at, much of what is wrong with a specification, so that it is checked before anything is sent.
 */

type Specification = Readonly<Record<string, unknown>>;

const ONE = "expected `specification` or `specificationText`";

const commonInputs = (t: Inputs, kind: string) => ({
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
});

type CommonInput = InputShapeFromFields<ReturnType<typeof commonInputs>> & {
  readonly tags?: string[] | null | undefined;
};

const ParameterInput = builder.inputType("ParameterInput", {
  description: "A parameter and its value.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
    value: t.field({
      type: "JSON",
      required: true,
      description: "Value: a text, a number, a boolean or a list of them.",
    }),
  }),
});

const CreateExperimentInput = builder.inputType("CreateExperimentInput", {
  description: `A new experiment: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => ({
    ...commonInputs(t, "experiment"),
    tags: t.stringList({ description: "Tags." }),
    parameters: t.field({
      type: [ParameterInput],
      description:
        "Parameters, which replace those of the specification with the same names. Others keep their values.",
    }),
    group: t.id({
      description: "Group of the same project to which it is added. Requires `CREATE_EXPERIMENT_GROUP`.",
    }),
  }),
});

const CreateJobInput = builder.inputType("CreateJobInput", {
  description: `A new job: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => ({
    ...commonInputs(t, "job"),
    tags: t.stringList({ description: "Tags. Requires `CREATE_JOB_TAGS`." }),
  }),
});

const CreateBuildJobInput = builder.inputType("CreateBuildJobInput", {
  description: `A new build job: ${ONE}. Omitted and null values are left to the service.`,
  fields: (t) => ({ ...commonInputs(t, "build"), tags: t.stringList({ description: "Tags." }) }),
});

const CreateGroupInput = builder.inputType("CreateGroupInput", {
  description: `A new group: ${ONE}, or \`experiments\`. Omitted and null values are left to the service.`,
  fields: (t) => ({
    ...commonInputs(t, "group"),
    tags: t.stringList({ description: "Tags." }),
    experiments: t.idList({
      description:
        "Experiments of the same project, by id or name, for a group of the type `selection`, which runs nothing. May be empty. Requires `CREATE_GROUP_EXPERIMENTS`.",
    }),
  }),
});

/** The written specification and its parsed value. Throws `InputError` unless there is exactly one, with the right kind and sections. */
async function specificationOf(
  kind: string,
  { specification, specificationText: text }: CommonInput,
  context: Context,
) {
  if ((specification == null) === (text == null))
    throw new InputError(`input: ${ONE}, got ${text == null ? "neither" : "both"}`);
  const argument = text == null ? "input.specification" : "input.specificationText";
  const refused = (issue: string) => new InputError(`${argument}: ${issue}`);
  const read = text == null ? null : await parseText(text, refused, context);
  const parsed = read ? read.value : specification;
  if (!isObject(parsed)) throw refused("expected an object, got another value");
  if (parsed["kind"] !== kind) {
    const got = typeof parsed["kind"] === "string" ? `kind: ${quote(parsed["kind"])}` : "none";
    throw refused(`expected kind: ${kind}, got ${got}`);
  }
  const sections = kind === "build" ? ["build", "image"] : ["run", "build"];
  if (!sections.some((section) => parsed[section] != null))
    throw refused(`expected a section ${sections.map((section) => `\`${section}\``).join(" or ")}, got none`);
  const size = text === null || text === undefined ? JSON.stringify(parsed).length : 0;
  if (size > MAX_LENGTH) throw refused(`expected at most ${MAX_LENGTH} characters of JSON, got ${size}`);
  /** Throws where values of the text would be sent, of which the server reads some otherwise. */
  const requireUnambiguous = (key: string | null, cause: string): void => {
    const scalar = read?.firstAmbiguous(key) ?? null;
    if (scalar !== null)
      throw refused(`expected plain numbers and quoted strings, because ${cause}, got ${quote(scalar)}`);
  };
  return { parsed, written: text ?? parsed, requireUnambiguous };
}

/** Maximum characters of a specification that is an object, in JSON: as many as one in YAML may have. */
const MAX_LENGTH = 16_384;

async function parseText(text: string, refused: (issue: string) => Error, context: Context) {
  try {
    return await context.runCooperatively(parseYaml(text));
  } catch (error) {
    if (PARSE_ERRORS.some((type) => error instanceof type)) throw refused((error as Error).message);
    throw error;
  }
}

/** The errors of the parser. Others end the operation. */
const PARSE_ERRORS = [SyntaxError, RangeError, ReferenceError, TypeError] as const;

/**
 * The specification of a build in the form of this server: release 0.2 has the image in a section `build`, release 0.4 at the top. As
 * written if it has that form.
 */
async function buildSpecification(given: CommonInput, context: Context): Promise<unknown> {
  const { parsed, written, requireUnambiguous } = await specificationOf("build", given, context);
  const { section: buildSection } = context.session.server.profile.inputs.createBuild;
  const { version, kind, build, ...top } = parsed;
  const isNested = build != null;
  if (isNested && Object.keys(top).length > 0)
    throw new InputError(
      `input: expected the image in the section \`build\` or at the top, got also ${quote(Object.keys(top).join(", "))}`,
    );
  if (isNested === (buildSection !== null)) return written;
  requireUnambiguous(null, "the server takes another form of build");
  if (isNested && !isObject(build))
    throw new InputError("input: expected `build` to be an object, got another value");
  const head = { version: version ?? 1, kind };
  return buildSection === null ? { ...head, ...(build as object) } : { ...head, [buildSection]: top };
}

/** The parameters of a specification, with the given ones in place of those of the same name. */
function mergeParameters(
  { declarations }: Specification,
  given: readonly { readonly name: string; readonly value?: unknown }[],
): Specification {
  if (declarations != null && !isObject(declarations))
    throw new InputError(
      "input: expected `declarations` of the specification to be an object, got another value",
    );
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new InputError(`input.parameters: expected each name once, got ${quote(twice)} twice`);
  return { ...declarations, ...Object.fromEntries(given.map(({ name, value }) => [name, value])) };
}

/** The number of a record of the same project, as bodies refer to it. */
async function numberIn<R extends object, At extends Address>(
  project: Address,
  kind: Kind<R, At>,
  argument: string,
  id: string,
  context: Context,
): Promise<number> {
  resolveId(kind, argument, id);
  const { address } = await targetOf(kind, id, context);
  const { owner, project: name, id: number }: Address = address;
  if (owner !== project["owner"] || name !== project["project"])
    throw new InputError(
      `${argument}: expected one of the project ${project["owner"]}.${project["project"]}, got ${quote(id)}`,
    );
  if (!Number.isSafeInteger(Number(number)))
    throw new InputError(`${argument}: expected an id below 2^53, got ${quote(id)}`);
  return Number(number);
}

type ProjectAddress = Pick<RunAddress, "owner" | "project">;
type Create = Command<ProjectAddress, CreatedRecord, Revision>;

/** Sends the command that creates a run in a project. `bodyOf` returns the part of the body that only this kind has. */
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
  // Safe: the keys of a new run's record mean the same in each kind of run.
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
  args: {
    ...projectArg,
    input: arg.field({ type: CreateExperimentInput, required: true, description: "The experiment." }),
  },
  resolve: (_, args, context) =>
    create(Experiment, experiment.optional.create, args, context, async (address) => {
      const { parameters, group: id } = args.input;
      const { parsed, written, requireUnambiguous } = await specificationOf(
        "experiment",
        args.input,
        context,
      );
      const given = parameters && parameters.length > 0 ? parameters : null;
      if (given) requireUnambiguous("declarations", "the parameters are sent as values");
      const { server } = context.session;
      // Throws where the server would ignore the group, before anything is read.
      if (id != null) server.bodyOf("createExperiment", { group: id });
      const number = id == null ? undefined : await numberIn(address, Group.kind, "input.group", id, context);
      return {
        config: written,
        // The server takes them in place of all of the specification.
        declarations: given && mergeParameters(parsed, given),
        ...server.bodyOf("createExperiment", { group: number }),
      };
    }),
});

root.mutation("createJob", {
  type: payloadOf(Job),
  description: describe("Creates a job, which starts as soon as the cluster has room.", job.optional.create),
  args: {
    ...projectArg,
    input: arg.field({ type: CreateJobInput, required: true, description: "The job." }),
  },
  resolve: (_, args, context) =>
    create(Job, job.optional.create, args, context, async () => ({
      config: (await specificationOf("job", args.input, context)).written,
      ...context.session.server.bodyOf("createJob", { tags: args.input.tags ?? undefined }),
    })),
});

root.mutation("createBuildJob", {
  type: payloadOf(BuildJob),
  description: describe("Creates a build job, which builds an image.", build.optional.create),
  args: {
    ...projectArg,
    input: arg.field({ type: CreateBuildJobInput, required: true, description: "The build job." }),
  },
  resolve: (_, args, context) =>
    create(BuildJob, build.optional.create, args, context, async () => ({
      config: await buildSpecification(args.input, context),
    })),
});

/** Begins a string that stands for a number. Random, so that no other string begins with it. */
const EXPONENT_MARK = randomUUID();

/** JSON that YAML 1.1 reads as the same value: exponents need a dot, and control characters an escape. */
const yamlOf = (specification: object): string =>
  JSON.stringify(specification, (_, value: unknown) =>
    typeof value === "number" && /^-?\de/.test(`${value}`)
      ? `${EXPONENT_MARK}${`${value}`.replace("e", ".0e")}`
      : value,
  )
    .split(`"${EXPONENT_MARK}`)
    .map((part, index) => (index === 0 ? part : part.replace('"', "")))
    .join("")
    .replace(
      /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );

/** Maximum experiments of a new selection. */
const MAX_SELECTED = 100;

root.mutation("createGroup", {
  type: payloadOf(Group),
  description: describe(
    "Creates a group, which creates and starts its experiments, or which only selects some.",
    group.optional.create,
  ),
  args: {
    ...projectArg,
    input: arg.field({ type: CreateGroupInput, required: true, description: "The group." }),
  },
  resolve: (_, args, context) =>
    create(Group, group.optional.create, args, context, async (address) => {
      const { experiments, specification, specificationText } = args.input;
      if (experiments == null) {
        const { written } = await specificationOf("group", args.input, context);
        // The server takes text only. JSON is YAML.
        return { content: typeof written === "string" ? written : yamlOf(written) };
      }
      if (specification != null || specificationText != null)
        throw new InputError(`input: ${ONE}, or \`experiments\`, got both`);
      if (experiments.length > MAX_SELECTED)
        throw new InputError(
          `input.experiments: expected at most ${MAX_SELECTED}, got ${experiments.length}`,
        );
      const { server } = context.session;
      // Throws where the server would ignore them, before anything is read.
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
