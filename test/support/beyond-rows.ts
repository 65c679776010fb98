import { globalId } from "./ids.ts";
import { ITEMS, type Row } from "./recorded-items.ts";
import { type Asked, never, type RecordedRow } from "./recorded-rows.ts";
import { readRecording } from "./replay.ts";

/*
 * How each exchange of `0.4.4-beyond` is asked for, by its name: an operation, or why there is none.
 */

type ItemName = keyof typeof ITEMS;

/** A list: the field with its arguments, below an object. `itemOf` finds the recorded item in a row. */
const list = (
  within: readonly [root: string, type: string],
  field: string,
  name: ItemName,
  itemOf: (row: Row) => Row = (row) => row,
): Asked => ({
  document: `{ thing: ${within[0]} { ... on ${within[1]} {
    list: ${field} { nodes { ${ITEMS[name].fields} } totalCount pageInfo { hasNextPage } }
  } } }`,
  told: ({ count, next, results }) => ({
    list: {
      // Every list of this release comes in this envelope.
      nodes: (results as readonly Row[]).map((row) => ITEMS[name].node(itemOf(row))),
      totalCount: count,
      pageInfo: { hasNextPage: next !== null },
    },
  }),
});

const user = (name: string) => [`entity(id: "${globalId(`User:${name}`)}")`, "User"] as const;

const ofViewer = (row: Asked): Asked => ({ ...row, isOfViewer: true });

export const archived = (field: string, name: ItemName, args = "(first: 2)") =>
  ofViewer(list(["viewer", "User"], field + args, name));

// The items of bookmarks lack `bookmarked`: it is true, and nothing is requested for it.
export const bookmarked = (field: string, name: ItemName, args = "(first: 3)") =>
  ofViewer(
    list(["viewer", "User"], field + args, name, ({ content_object: item }) => ({
      // Every bookmark holds an item.
      ...(item as Row),
      bookmarked: true,
    })),
  );

const FIELDS = { experiments: "experiments", jobs: "jobs", builds: "buildJobs", groups: "groups" } as const;
type RunItems = keyof typeof FIELDS;

export const inProject = (name: RunItems, args: string) =>
  list([`project(owner: "alice", name: "mnist")`, "Project"], `${FIELDS[name]}(${args})`, name);

/** Lists in an order, by its spelling upstream: the argument that asks for it. */
const sorted = (name: RunItems, first: number, orders: Readonly<Record<string, string | RecordedRow>>) =>
  Object.fromEntries(
    Object.entries(orders).map(([order, asked]) => [
      `${name} sorted by ${order}`,
      typeof asked === "string" ? inProject(name, `first: ${first}, ${asked}`) : asked,
    ]),
  );

/** Lists by a filter in the server's language, as it stands in their names. */
const filtered = (name: RunItems) =>
  Object.fromEntries(
    readRecording("0.4.4-beyond").flatMap(({ case: title }) => {
      const [of, query] = title.split(" where ");
      return of === name && query !== undefined
        ? [[title, inProject(name, `first: 2, query: ${JSON.stringify(query)}`)]]
        : [];
    }),
  );

/** What records tell besides what list items have. */
const BEYOND_ITEMS = {
  experiments: {
    isClone: "is_clone",
    jobCount: "num_jobs",
    hasTensorboard: "has_tensorboard",
    resources: "resources",
  },
  jobs: { isClone: "is_clone", resources: "resources" },
  builds: {
    commit: "commit",
    dockerfile: "dockerfile",
    jobCount: "num_jobs",
    experimentCount: "num_experiments",
  },
  groups: { content: "content", currentIteration: "current_iteration" },
} as const;

export const keysOf = (record: Row, keys: Readonly<Record<string, string>>): Row =>
  Object.fromEntries(Object.entries(keys).map(([field, key]) => [field, record[key] ?? null]));

const fieldsOf = (name: RunItems) => `${ITEMS[name].fields} ${Object.keys(BEYOND_ITEMS[name]).join(" ")}`;

const recordOf = (name: RunItems) => (json: Row) => ({
  ...ITEMS[name].node(json),
  ...keysOf(json, BEYOND_ITEMS[name]),
});

const record = (look: string, name: RunItems): Asked => ({
  document: `{ thing: ${look} { ${fieldsOf(name)} } }`,
  told: recordOf(name),
});

const BEST_FIRST = `orderByMetric: { name: "accuracy", direction: DESC }`;

const COPY = "alice.mnist.253";

const changeOf = (call: string) =>
  `mutation { thing: ${call} { experiment { ${fieldsOf("experiments")} } } }`;

/** An update of the copied experiment, with the input as in GraphQL. */
const update = (input: string): Asked => ({
  document: changeOf(`updateExperiment(id: "${COPY}", input: { ${input} })`),
  told: (json) => ({ experiment: recordOf("experiments")(json) }),
});

/** A command of the copied experiment without an answer, which is told by the record behind it. */
const act = (mutation: string, behind: string): Asked => ({
  document: changeOf(`${mutation}(id: "${COPY}")`),
  told: (_, after) => ({ experiment: recordOf("experiments")(after) }),
  behind,
});

/** What a reduced record has. */
const REDUCED = {
  uniqueName: "unique_name",
  uuid: "uuid",
  description: "description",
  rawStatus: "last_status",
  createdAt: "created_at",
  rawCloningStrategy: "cloning_strategy",
  declarations: "declarations",
  tags: "tags",
};

export const PROJECT = {
  uniqueName: "unique_name",
  name: "name",
  description: "description",
  readme: "readme",
  tags: "tags",
  isPublic: "is_public",
  createdAt: "created_at",
  updatedAt: "updated_at",
  hasCode: "has_code",
  hasTensorboard: "has_tensorboard",
  hasNotebook: "has_notebook",
  experimentCount: "num_experiments",
  independentExperimentCount: "num_independent_experiments",
  groupCount: "num_experiment_groups",
  jobCount: "num_jobs",
  buildJobCount: "num_builds",
};

const project = (owner: string, name: string): Asked => ({
  document: `{ thing: project(owner: "${owner}", name: "${name}") { ${Object.keys(PROJECT).join(" ")} } }`,
  told: (json) => keysOf(json, PROJECT),
});

const CODE = { branch: "branch", commit: "commit", head: "head", isDirty: "is_dirty", url: "git_url" };
const CODE_FIELDS = `codeReference { ${Object.keys(CODE).join(" ")} }`;

export const BEYOND_ROWS: Readonly<Record<string, RecordedRow>> = {
  project: project("alice", "mnist"),
  "project of somebody else, public": project("bob", "open"),
  "project, private": {
    ...project("bob", "secret"),
    document: `{ thing: project(owner: "bob", name: "secret") { name isPublic } }`,
    refused: { at: "thing.isPublic", data: { name: "secret", isPublic: null } },
  },
  "projects of an owner": list(user("alice"), "projects(first: 2)", "projects"),

  "bookmarks experiments": bookmarked("bookmarkedExperiments", "experiments"),
  "bookmarks groups": bookmarked("bookmarkedGroups", "groups"),
  "bookmarks jobs": bookmarked("bookmarkedJobs", "jobs"),
  "bookmarks builds": bookmarked("bookmarkedBuildJobs", "builds"),
  "bookmarks projects": bookmarked("bookmarkedProjects", "projects"),
  "bookmarks of somebody else": list(user("bob"), "bookmarkedExperiments(first: 2)", "experiments"),
  "archives experiments": archived("archivedExperiments", "experiments"),
  "archives groups": archived("archivedGroups", "groups"),
  "archives jobs": archived("archivedJobs", "jobs"),
  "archives builds": archived("archivedBuildJobs", "builds"),
  "archives projects": archived("archivedProjects", "projects"),

  "code reference experiments 1": {
    document: `{ thing: experiment(id: "alice.mnist.1") { ${CODE_FIELDS} } }`,
    told: (json) => ({ codeReference: { ...keysOf(json, CODE), url: json["git_url"] || null } }),
  },
  // Empty texts are no code reference, and do not show that the experiment is there: its statuses do.
  "code reference experiments 3": {
    document: `{ thing: experiment(id: "alice.mnist.3") { ${CODE_FIELDS} statuses(first: 20) { totalCount } } }`,
    told: (_, { count }) => ({ codeReference: null, statuses: { totalCount: count } }),
    behind: "statuses, with traceback",
  },
  "code reference jobs 1": never("no release has code references of jobs"),
  "code reference builds 1": never("no release has code references of builds"),

  "experiment, whole": record(`experiment(id: "alice.mnist.1")`, "experiments"),
  "experiment of a group, whole": record(`experiment(id: "alice.mnist.1.12")`, "experiments"),
  "group, whole": record(`group(id: "alice.mnist.1")`, "groups"),
  "job, whole": record(`job(id: "alice.mnist.jobs.1")`, "jobs"),
  "build, whole": record(`buildJob(id: "alice.mnist.builds.1")`, "builds"),
  "statuses, with traceback": list(
    [`experiment(id: "alice.mnist.3")`, "Experiment"],
    "statuses(first: 20)",
    "statuses",
  ),

  ...sorted("experiments", 4, {
    "metric.loss": `orderByMetric: { name: "loss", direction: ASC }`,
    "-metric.loss": never("the runs without a metric, which come first, are left out"),
    "-started_at": "orderBy: STARTED_DESC",
    finished_at: "orderBy: FINISHED_ASC",
    "-created_at": "orderBy: CREATED_DESC",
    name: never("the server ignores this order"),
    nonsense: never("the server ignores this order"),
    "-metric.nosuch": never("the runs without a metric, which come first, are left out"),
  }),
  "best first, those without the metric left out": inProject("experiments", `first: 4, ${BEST_FIRST}`),
  "best first, another bound": inProject(
    "experiments",
    `first: 4, ${BEST_FIRST}, filter: { metrics: [{ name: "accuracy", atLeast: 0 }] }`,
  ),
  ...filtered("experiments"),
  ...filtered("jobs"),
  ...sorted("jobs", 2, { "-started_at": "orderBy: STARTED_DESC", created_at: "orderBy: CREATED_ASC" }),
  ...filtered("builds"),
  ...sorted("builds", 2, {
    "-started_at": "orderBy: STARTED_DESC",
    created_at: "orderBy: CREATED_ASC",
  }),
  ...filtered("groups"),
  ...sorted("groups", 2, {
    "-started_at": "orderBy: STARTED_DESC",
    created_at: "orderBy: CREATED_ASC",
  }),
  "group metrics": never("the metrics of a group are read as a whole"),

  "copy to change": {
    document: `mutation { thing: copyExperiment(id: "alice.mnist.1") {
      experiment { ${Object.keys(REDUCED).join(" ")} } source { id }
    } }`,
    told: (json) => ({
      experiment: keysOf(json, REDUCED),
      source: { id: globalId("Experiment:alice/mnist/1") },
    }),
  },
  'update {"name": "renamed-here"}': update(`name: "renamed-here"`),
  'update {"tags": ["a", "b"]}': update(`tags: ["a", "b"]`),
  'update {"readme": "# Notes\\n\\nlong text"}': update(`readme: "# Notes\\n\\nlong text"`),
  'update {"description": null}': update(`description: null`),
  'update {"name": "not a slug!"}': never("the gateway refuses the name itself"),
  'update {"tags": "a"}': never("tags are a list"),
  'update {"name": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx': update(`name: "${"x".repeat(200)}"`),
  "after the updates": record(`experiment(id: "${COPY}")`, "experiments"),
  "restart with options": never("the server ignores `declarations`: the gateway sends them in `config`"),
  archive: act("archiveExperiment", "archived, read"),
  "archived, read": record(`experiment(id: "${COPY}")`, "experiments"),
  restore: act("restoreExperiment", "restored, read"),
  "restored, read": record(`experiment(id: "${COPY}")`, "experiments"),
  delete: {
    document: `mutation { thing: deleteExperiment(id: "${COPY}") { deletedId project { uniqueName } } }`,
    told: () => ({
      deletedId: globalId("Experiment:alice/mnist/253"),
      project: { uniqueName: "alice.mnist" },
    }),
  },
  "stop many": never("several runs are stopped by several mutations"),
  versions: never("they are of no use to a client of the gateway"),
  "versions, library": never("they are of no use to a client of the gateway"),
};
