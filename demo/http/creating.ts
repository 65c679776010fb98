import { type Kind, experiments, groups, jobs, builds } from "../kinds.ts";
import { headOf } from "../newer-keys.ts";
import type { JsonRecord } from "../records.ts";
import { applySteps, startRun, startStudy } from "../simulation.ts";
import {
  addBuild,
  addExperiment,
  addGroup,
  addJob,
  type Declarations,
  type Experiment,
  freeName,
  type Group,
  nextId,
  nodeNames,
  type Project,
  type Run,
  type Store,
} from "../store.ts";
import { mayWrite, projectOf, requireUser, usernameOf } from "./accounts.ts";
import { changed } from "./commands.ts";
import {
  type DemoRequest,
  type DemoResponse,
  fieldsOf,
  HttpError,
  isFields,
  json,
  pythonType,
  slugField,
  textField,
  textsField,
} from "./messages.ts";
import { configOf, declarationsOf, readSpecification } from "./specification.ts";
import { studyOf } from "./trials.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields of the body that all runs have in common, for a caller who may change the project. */
function givenIn<R extends Run>(request: DemoRequest, kind: Kind<R>) {
  const { store } = request;
  const project = projectOf(request, mayWrite);
  const fields = fieldsOf(request.body());
  const { name } = fields;
  const common = {
    project,
    user: requireUser(request).username,
    createdAt: store.time,
    logInterval: 500,
    ...changed(fields, "description", textField),
    ...changed(fields, "readme", textField),
    ...changed(fields, "tags", textsField),
    ...(name !== undefined &&
      name !== null && { name: freeName(kind.all(store).values(), project, slugField("name", name)) }),
  };
  return { store, project, fields, common };
}

/** Responds with the keys of a record that release 0.4.4 sends. */
function created<R extends Run>(
  request: DemoRequest,
  kind: Kind<R>,
  run: R,
  { keys, ...others }: { readonly keys: string } & JsonRecord,
): DemoResponse {
  const record = kind.record(request.store, run, usernameOf(request));
  const sent = keys.split(" ").map((key) => [key, record[key] ?? null]);
  return json(201, { ...Object.fromEntries(sent), ...others });
}

/** The specification of a body, which must have one. */
function requiredConfig({ config }: Fields): unknown {
  if (config === undefined) throw new HttpError(400, { config: ["This field is required."] });
  if (config === null) throw new HttpError(400, { config: ["This field may not be null."] });
  return config;
}

/** An experiment without a specification runs as well. */
export function createExperiment(request: DemoRequest): DemoResponse {
  const { store, project, fields, common } = givenIn(request, experiments);
  const { config = null, experiment_group: groupId = null } = fields;
  const group = groupId === null ? null : groupOf(store, project, groupId);
  const given = givenDeclarations(fields);
  const specification = config === null ? null : readSpecification("experiment", "config", config);
  const declarations = given ?? (specification && declarationsOf(specification));
  const run = addExperiment(store, {
    ...common,
    group,
    declarations,
    config: { ...configOf(specification ?? {}, declarations), specification: config },
    replicas: replicasIn(store),
  });
  startRun(store, run);
  return created(request, experiments, run, {
    keys: "id unique_name project user name description readme original_experiment experiment_group config declarations backend framework in_cluster run_env data_refs tags",
    experiment_group: group?.id ?? null,
    in_cluster: true,
  });
}

const replicasIn = (store: Store) => [
  { id: nextId(store, "experiment job"), role: "master" as const, node: nodeNames[0] },
];

function groupOf(store: Store, project: Project, id: unknown): Group {
  if (typeof id !== "number") {
    const error = `Incorrect type. Expected pk value, received ${pythonType(id)}.`;
    throw new HttpError(400, { experiment_group: [error] });
  }
  const group = store.runs.group.get(id);
  if (group?.project === project) return group;
  throw new HttpError(400, { experiment_group: [`Invalid pk "${id}" - object does not exist.`] });
}

function givenDeclarations({ declarations = null }: Fields): Declarations | null {
  if (declarations === null || isFields(declarations)) return declarations;
  const error = `Expected a dictionary of items but got type "${pythonType(declarations)}".`;
  throw new HttpError(400, { declarations: [error] });
}

export function createJob(request: DemoRequest): DemoResponse {
  const { store, fields, common } = givenIn(request, jobs);
  const config = requiredConfig(fields);
  const specification = readSpecification("job", "config", config);
  const run = addJob(store, {
    ...common,
    config: { ...configOf(specification), specification: config },
    node: nodeNames[0],
  });
  startRun(store, run);
  return created(request, jobs, run, {
    keys: "id unique_name user project name description readme in_cluster data_refs config tags",
    in_cluster: true,
  });
}

export function createBuild(request: DemoRequest): DemoResponse {
  const { store, project, fields, common } = givenIn(request, builds);
  const config = requiredConfig(fields);
  const specification = readSpecification("build", "config", config);
  const run = addBuild(store, {
    ...common,
    config: { ...configOf(specification), cmd: "", specification: config },
    node: nodeNames[0],
    commit: headOf(project),
  });
  startRun(store, run);
  return created(request, builds, run, {
    keys: "id user project name unique_name description config in_cluster tags",
    in_cluster: true,
  });
}

const groupKeys =
  "id uuid name unique_name user project description last_status group_type created_at updated_at started_at finished_at tags concurrency search_algorithm readme content";

/** Creates a study from a specification of a search, otherwise a selection. */
export function createGroup(request: DemoRequest): DemoResponse {
  const { store, project, fields, common } = givenIn(request, groups);
  const content = textContent(fields);
  if (content === "") {
    const run = addGroup(store, { ...common, search: null, selected: selectedIn(store, project, fields) });
    applySteps(store, run, [[0, "created"]]);
    return created(request, groups, run, { keys: groupKeys });
  }
  const specification = readSpecification("group", "content", content);
  const { search, trials } = studyOf(specification, content);
  const run = addGroup(store, { ...common, search });
  startStudy(store, run, { concurrency: search.concurrency, trials }, (declarations, createdAt) =>
    addExperiment(store, {
      project,
      user: run.user,
      createdAt,
      logInterval: 500,
      group: run,
      declarations,
      config: configOf(specification, declarations),
      replicas: replicasIn(store),
    }),
  );
  return created(request, groups, run, { keys: groupKeys });
}

/** Empty if there is none. */
function textContent({ content = null }: Fields): string {
  if (content === null) return "";
  return textField("content", content).trim();
}

/** The experiments of the project whose ids are given. */
function selectedIn(store: Store, project: Project, { experiment_ids: ids = [] }: Fields): Set<Experiment> {
  const found = (Array.isArray(ids) ? ids : [null]).map((id: unknown) => {
    const each = typeof id === "number" ? store.runs.experiment.get(id) : undefined;
    if (each?.project === project) return each;
    throw new HttpError(400, ["Experiments selection is not valid."]);
  });
  return new Set(found);
}
