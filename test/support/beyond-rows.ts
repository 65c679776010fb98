import { globalId } from "./ids.ts";
import { ITEMS, type Row } from "./recorded-items.ts";
import { readRecording } from "./replay.ts";

/*
 * How each exchange of `0.4.4-beyond` is asked for, by its name: an operation, or why there is none.
 */

export interface Asked {
  readonly document: string;
  /** What the recorded answer gives; of a command without an answer, the record behind it. */
  readonly told: (json: Row) => unknown;
  /** The exchange of the same file that is read behind it. */
  readonly behind?: string;
  /** Whether the caller's name is read first. */
  readonly isOfViewer?: boolean;
}

/** `never`: no field asks for it, and why. `notYet`: a field will; put the operation in its place. */
type Unasked = { readonly never: string } | { readonly notYet: string };

export type BeyondRow = Asked | Unasked;

const never = (why: string): Unasked => ({ never: why });
const notYet = (what: string): Unasked => ({ notYet: what });

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

const archived = (field: string, name: ItemName) =>
  ofViewer(list(["viewer", "User"], `${field}(first: 2)`, name));

// The items of bookmarks lack `bookmarked`: it is true, and nothing is requested for it.
const bookmarked = (field: string, name: ItemName) =>
  ofViewer(
    list(["viewer", "User"], `${field}(first: 3)`, name, ({ content_object: item }) => ({
      // Every bookmark holds an item.
      ...(item as Row),
      bookmarked: true,
    })),
  );

const FIELDS = { experiments: "experiments", jobs: "jobs", builds: "buildJobs", groups: "groups" } as const;
type RunItems = keyof typeof FIELDS;

const inProject = (name: RunItems, args: string) =>
  list([`project(owner: "alice", name: "mnist")`, "Project"], `${FIELDS[name]}(${args})`, name);

/** Lists in an order, by its spelling upstream: the argument that asks for it. */
const sorted = (name: RunItems, first: number, orders: Readonly<Record<string, string | Unasked>>) =>
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

const keysOf = (record: Row, keys: Readonly<Record<string, string>>): Row =>
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

const COPY = "alice.mnist.253";

/** A mutation of the copied experiment. */
const change = (call: string, behind?: string): Asked => ({
  document: `mutation { thing: ${call} { experiment { ${fieldsOf("experiments")} } } }`,
  told: (json) => ({ experiment: recordOf("experiments")(json) }),
  ...(behind === undefined ? {} : { behind }),
});

/** What a reduced record has. */
const REDUCED = {
  uniqueName: "unique_name",
  uuid: "uuid",
  rawStatus: "last_status",
  createdAt: "created_at",
  tags: "tags",
};

export const BEYOND_ROWS: Readonly<Record<string, BeyondRow>> = {
  project: notYet("records of projects"),
  "project of somebody else, public": notYet("records of projects"),
  "project, private": notYet("records of projects"),
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

  "code reference experiments 1": notYet("code references"),
  "code reference experiments 3": notYet("code references"),
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
    "metric.loss": notYet("orders by a metric"),
    "-metric.loss": never("the runs without a metric, which come first, are left out"),
    "-started_at": notYet("orders by the start"),
    finished_at: notYet("orders by the end"),
    "-created_at": "orderBy: CREATED_DESC",
    name: never("the server ignores this order"),
    nonsense: never("the server ignores this order"),
    "-metric.nosuch": never("the runs without a metric, which come first, are left out"),
  }),
  "best first, those without the metric left out": notYet("orders by a metric"),
  "best first, another bound": notYet("orders by a metric"),
  ...filtered("experiments"),
  ...filtered("jobs"),
  ...sorted("jobs", 2, { "-started_at": notYet("orders by the start"), created_at: "orderBy: CREATED_ASC" }),
  ...filtered("builds"),
  ...sorted("builds", 2, {
    "-started_at": notYet("orders by the start"),
    created_at: "orderBy: CREATED_ASC",
  }),
  ...filtered("groups"),
  ...sorted("groups", 2, {
    "-started_at": notYet("orders by the start"),
    created_at: "orderBy: CREATED_ASC",
  }),
  "group metrics": never("the metrics of a group are read as a whole"),

  "copy to change": {
    document: `mutation { thing: copyExperiment(id: "alice.mnist.1") {
      experiment { ${Object.keys(REDUCED).join(" ")} original { uniqueName } } source { id }
    } }`,
    told: (json) => ({
      experiment: { ...keysOf(json, REDUCED), original: { uniqueName: json["original"] } },
      source: { id: globalId("Experiment:alice/mnist/1") },
    }),
  },
  'update {"name": "renamed-here"}': notYet("updates of names"),
  'update {"tags": ["a", "b"]}': notYet("updates of tags"),
  'update {"readme": "# Notes\\n\\nlong text"}': notYet("updates of readmes"),
  'update {"description": null}': change(`updateExperiment(id: "${COPY}", input: { description: null })`),
  'update {"name": "not a slug!"}': notYet("updates of names"),
  'update {"tags": "a"}': never("tags are a list"),
  'update {"name": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx': notYet("updates of names"),
  "after the updates": record(`experiment(id: "${COPY}")`, "experiments"),
  "restart with options": notYet("options of restarts"),
  archive: change(`archiveExperiment(id: "${COPY}")`, "archived, read"),
  "archived, read": record(`experiment(id: "${COPY}")`, "experiments"),
  restore: change(`restoreExperiment(id: "${COPY}")`, "restored, read"),
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
