import { globalId } from "../ids.ts";
import type { Row } from "../recorded-items.ts";
import { type Asked, never, type RecordedRow } from "../recorded-rows.ts";

const FIELDS = "id internalId name query sort meta";

/** The kinds, by their names in paths: their names in `RunKind`, and the line of the first of their exchanges. */
const KINDS = { experiments: "EXPERIMENT", groups: "GROUP", jobs: "JOB", builds: "BUILD_JOB" };

const idOf = (kind: string, id: unknown) => globalId(`SavedSearch:alice/mnist/${kind}/${String(id)}`);

const node = (kind: string, { id, name, query, meta }: Row) => ({
  id: idOf(kind, id),
  internalId: `${String(id)}`,
  name,
  // Every search was recorded with both.
  ...(query as Row),
  meta,
});

const listed = (kind: keyof typeof KINDS): Asked => ({
  document: `{ thing: project(owner: "alice", name: "mnist") {
    list: savedSearches(kind: ${KINDS[kind]}) { nodes { ${FIELDS} } totalCount }
  } }`,
  told: ({ count, results }) => ({
    list: { nodes: (results as readonly Row[]).map((row) => node(kind, row)), totalCount: count },
  }),
});

const save = (kind: keyof typeof KINDS, input: string): Asked => ({
  document: `mutation {
    thing: saveSearch(project: "alice.mnist", kind: ${KINDS[kind]}, input: { ${input} }) { savedSearch { ${FIELDS} } }
  }`,
  told: (json) => ({ savedSearch: node(kind, json) }),
});

const remove = (kind: keyof typeof KINDS, id: number): Asked => ({
  document: `mutation { thing: deleteSavedSearch(id: "${idOf(kind, id)}") { deletedId } }`,
  told: () => ({ deletedId: idOf(kind, id) }),
});

/** The exchanges of one kind; those of later kinds have the same names, with the number of their line. */
const ofKind = (kind: keyof typeof KINDS, line: number, first: number) => {
  const named = (name: string, at: number) => (kind === "experiments" ? name : `${name} (${line + at})`);
  return {
    [named("searches", 0)]: listed(kind),
    [named("save a search", 1)]: save(
      kind,
      `name: "best", query: "status:succeeded", sort: "-created_at", meta: { columns: ["a"] }`,
    ),
    [named("the same name", 2)]: save(kind, `name: "best", query: "status:failed", sort: ""`),
    [named("searches after", 3)]: listed(kind),
    [named("delete one", 4)]: remove(kind, first),
  };
};

export const SEARCH_ROWS: Readonly<Record<string, RecordedRow>> = {
  ...ofKind("experiments", 51, 1),
  ...ofKind("groups", 56, 3),
  ...ofKind("jobs", 61, 5),
  ...ofKind("builds", 66, 7),
  "a search without a query": never("the schema requires the query"),
  "another user's searches": listed("experiments"),
};
