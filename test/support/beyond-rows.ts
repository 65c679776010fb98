import { globalId } from "./ids.ts";
import { declared, ITEMS, type Row } from "./recorded-items.ts";
import rows from "../recorded/rows.json" with { type: "json" };
import { type Asked, never, type RecordedRow } from "./recorded-rows.ts";
import { readRecording } from "./replay.ts";

/*
 * How each exchange of `0.4.4-beyond` and `0.4.4-further` is asked for, by its name. `test/recorded/rows.json` says why there is
 * no operation, or which function below makes it, with its arguments.
 */

type ItemName = keyof typeof ITEMS;

/** A list: the field with its arguments, below an object. `itemOf` finds the recorded item in a row; `on` is the type of its nodes. */
const list = (
  within: readonly [root: string, type: string],
  field: string,
  name: ItemName,
  itemOf: (row: Row) => Row = (row) => row,
  on?: string,
): Asked => ({
  document: `{ thing: ${within[0]} { ... on ${within[1]} {
    list: ${field} { nodes { ${on === undefined ? ITEMS[name].fields : `... on ${on} { ${ITEMS[name].fields} }`} } totalCount pageInfo { hasNextPage } }
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

const KINDS = {
  experiments: ["EXPERIMENT", "Experiment"],
  jobs: ["JOB", "Job"],
  builds: ["BUILD_JOB", "BuildJob"],
  groups: ["GROUP", "Group"],
  projects: ["PROJECT", "Project"],
} as const;
type KeptItems = keyof typeof KINDS;

const kept = (
  of: readonly [root: string, type: string],
  field: string,
  name: KeptItems,
  first: string,
  itemOf?: (row: Row) => Row,
) => list(of, `${field}(kind: ${KINDS[name][0]}, first: ${first})`, name, itemOf, KINDS[name][1]);

const archived = (name: KeptItems, first: string) =>
  ofViewer(kept(["viewer", "User"], "archives", name, first));

// The items of bookmarks lack `bookmarked`: it is true, and nothing is requested for it.
const bookmarked = (name: KeptItems, first: string) =>
  ofViewer(
    kept(["viewer", "User"], "bookmarks", name, first, ({ content_object: item }) => ({
      // Every bookmark holds an item.
      ...(item as Row),
      bookmarked: true,
    })),
  );

const FIELDS = { experiments: "experiments", jobs: "jobs", builds: "buildJobs", groups: "groups" } as const;
type RunItems = keyof typeof FIELDS;

const inProject = (name: RunItems, args: string) =>
  list([`project(id: "alice.mnist")`, "Project"], `${FIELDS[name]}(${args})`, name);

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

const COPY = "alice.mnist.253";

const changeOf = (call: string) =>
  `mutation { thing: ${call} { experiment { ${fieldsOf("experiments")} } } }`;

/** An update of the copied experiment, with the input as in GraphQL. */
const update = (input: string): Asked => ({
  document: changeOf(`updateExperiment(id: "${COPY}", input: { ${input} })`),
  told: (json) => ({ experiment: recordOf("experiments")(json) }),
});

/** A command of the copied experiment without an answer, which is told by the record behind it. */
const act = (isArchived: string, behind: string): Asked => ({
  document: `mutation { thing: archiveRuns(ids: ["${globalId("Experiment:alice/mnist/253")}"], isArchived: ${isArchived}) { results {
    run { ... on Experiment { ${fieldsOf("experiments")} } }
  } } }`,
  told: (_, after) => ({ results: [{ run: recordOf("experiments")(after) }] }),
  behind,
});

/** What a reduced record has. */
const REDUCED = {
  uniqueName: "unique_name",
  uuid: "uuid",
  description: "description",
  rawStatus: "last_status",
  createdAt: "created_at",
  tags: "tags",
};

const PROJECT = {
  uniqueName: "unique_name",
  name: "name",
  description: "description",
  readme: "readme",
  tags: "tags",
  isPublic: "is_public",
  createdAt: "created_at",
  updatedAt: "updated_at",
  experimentCount: "num_experiments",
  groupCount: "num_experiment_groups",
  jobCount: "num_jobs",
  buildJobCount: "num_builds",
};

const project = (id: string): Asked => ({
  document: `{ thing: project(id: "${id}") { ${Object.keys(PROJECT).join(" ")} } }`,
  told: (json) => keysOf(json, PROJECT),
});

const CODE = { branch: "branch", commit: "commit", isDirty: "is_dirty", url: "git_url" };
const CODE_FIELDS = `codeReference { ${Object.keys(CODE).join(" ")} }`;

const KEPT_PROJECT = { ...PROJECT, isBookmarked: "bookmarked" };
const KEPT_FIELDS = `id ${Object.keys(KEPT_PROJECT).join(" ")}`;

const projectId = (name: string) => globalId(`Project:${name.replace(".", "/")}`);

const keptProject = (json: Row) => ({
  id: projectId(String(json["unique_name"])),
  ...keysOf(json, KEPT_PROJECT),
});

const REFUSED = { at: "thing", data: null };

/** A folder of the outputs of a run, which costs no read of the run itself. */
const folder = (type: string, address: string, path?: string): Asked => ({
  document: `{ thing: entity(id: "${globalId(`${type}:${address}`)}") { ... on ${type} {
    outputFiles${path === undefined ? "" : `(path: "${path}")`} { folders { name } files { name path bytes } }
  } } }`,
  told: ({ dirs, files }) => ({
    outputFiles: {
      folders: (dirs as readonly string[]).map((name) => ({ name })),
      // The recorded folders are those at the top.
      files: (files as readonly [string, number][]).map(([name, bytes]) => ({ name, path: name, bytes })),
    },
  }),
});

/** What makes the operation of a row, by the name that stands there. */
const MAKERS = {
  archived,
  bookmarked,
  inProject,
  project,
  record,
  update,
  act,
  folder,
  bookmarksOf: (name: string, item: KeptItems, first: string) => kept(user(name), "bookmarks", item, first),
  ofUser: (name: string, field: string, item: ItemName) => list(user(name), field, item),
  privateProject: () => ({
    ...project("bob.secret"),
    document: `{ thing: project(id: "bob.secret") { name isPublic } }`,
    refused: { at: "thing.isPublic", data: { name: "secret", isPublic: null } },
  }),
  code: () => ({
    document: `{ thing: experiment(id: "alice.mnist.1") { ${CODE_FIELDS} } }`,
    told: (json) => ({ codeReference: { ...keysOf(json, CODE), url: json["git_url"] || null } }),
  }),
  // Empty texts are no code reference, and do not show that the experiment is there: its statuses do.
  noCode: () => ({
    document: `{ thing: experiment(id: "alice.mnist.3") { ${CODE_FIELDS} statuses(first: 20) { totalCount } } }`,
    told: (_, { count }) => ({ codeReference: null, statuses: { totalCount: count } }),
    behind: "statuses, with traceback",
  }),
  statuses: () => list([`experiment(id: "alice.mnist.3")`, "Experiment"], "statuses(first: 20)", "statuses"),
  copy: () => ({
    document: `mutation { thing: copyExperiment(id: "alice.mnist.1") {
      experiment { ${Object.keys(REDUCED).join(" ")} declarations { name value } original { id } }
    } }`,
    told: (json) => ({
      experiment: {
        ...keysOf(json, REDUCED),
        // Safe: a recorded record has them.
        declarations: declared(json["declarations"] as object),
        original: { id: globalId("Experiment:alice/mnist/1") },
      },
    }),
  }),
  remove: () => ({
    document: `mutation { thing: deleteExperiment(id: "${COPY}") { deletedId project { uniqueName } } }`,
    told: () => ({
      deletedId: globalId("Experiment:alice/mnist/253"),
      project: { uniqueName: "alice.mnist" },
    }),
  }),
  gone: () => ({
    document: `{ thing: experiment(id: "alice.mnist.20") { uuid } }`,
    told: () => null,
    refused: REFUSED,
  }),
  /** What the server refuses because there is nothing. */
  nothing: (...of: Parameters<typeof folder>) => ({
    ...folder(...of),
    told: () => ({ outputFiles: null }),
    isNoError: true,
  }),
  privateFolder: (...of: Parameters<typeof folder>) => ({
    ...folder(...of),
    refused: { at: "thing.outputFiles", data: { outputFiles: null } },
  }),
  keptProject: (id: string) => ({
    document: `{ thing: project(id: "${id}") { ${KEPT_FIELDS} } }`,
    told: keptProject,
  }),
  /** A command without an answer, which is told by the record behind it. */
  actOnProject: (call: string, behind: string) => ({
    document: `mutation { thing: ${call} { project { ${KEPT_FIELDS} } } }`,
    told: (_, after) => ({ project: keptProject(after) }),
    behind,
  }),
  bookmarkOnly: (name: string) => ({
    document: `mutation { thing: bookmarkProject(id: "${name}", isBookmarked: true) { project { uniqueName } } }`,
    told: () => ({ project: { uniqueName: name } }),
    refused: REFUSED,
  }),
  updateProject: (name: string, input: string) => ({
    document: `mutation { thing: updateProject(id: "${name}", input: { ${input} }) { project { ${KEPT_FIELDS} } } }`,
    told: (json) => ({ project: keptProject(json) }),
  }),
  create: (input: string) => ({
    // What the answer lacks would be read.
    document: `mutation { thing: createProject(input: { ${input} }) { project {
      id uniqueName description tags createdAt updatedAt isPublic readme
    } } }`,
    told: (json) => {
      const { id, ...others } = keptProject(json);
      const { uniqueName, description, tags, createdAt, updatedAt, isPublic, readme } = others as Row;
      return { project: { id, uniqueName, description, tags, createdAt, updatedAt, isPublic, readme } };
    },
    refused: REFUSED,
  }),
  removeProject: () => ({
    document: `mutation { thing: deleteProject(id: "alice.fresh") { deletedId } }`,
    told: () => ({ deletedId: projectId("alice.fresh") }),
  }),
  goneProject: () => ({
    document: `{ thing: project(id: "alice.fresh") { name isPublic } }`,
    told: () => null,
    refused: REFUSED,
  }),
} satisfies Readonly<Record<string, (...given: never[]) => Asked>>;

// Safe: the rows name these functions and what they take; a test fails for another one.
const make = MAKERS as unknown as Readonly<Record<string, (...given: readonly string[]) => Asked>>;

function rowOf(row: string | readonly string[]): RecordedRow {
  if (typeof row === "string") return never(row);
  const [maker = "", ...given] = row;
  const asked = make[maker]?.(...given);
  if (!asked) throw new TypeError(`expected the name of a function, got ${maker}`);
  return asked;
}

const rowsOf = (written: Readonly<Record<string, string | readonly string[]>>) =>
  Object.fromEntries(Object.entries(written).map(([name, row]) => [name, rowOf(row)] as const));

/** Lists by a filter in the server's language, as it stands in their names. */
const filtered = readRecording("0.4.4-beyond").flatMap(({ case: title }) => {
  const [name = "", query] = title.split(" where ");
  return query === undefined
    ? []
    : [[title, inProject(name as RunItems, `first: 2, query: ${JSON.stringify(query)}`)] as const];
});

export const BEYOND_ROWS: Readonly<Record<string, RecordedRow>> = {
  ...rowsOf(rows.beyond),
  ...Object.fromEntries(filtered),
};

export const FURTHER_ROWS = rowsOf(rows.further);
