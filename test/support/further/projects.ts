import { archived, bookmarked, keysOf, PROJECT } from "../beyond-rows.ts";
import { globalId } from "../ids.ts";
import { type Asked, never, type RecordedRow } from "../recorded-rows.ts";
import type { Row } from "../recorded-items.ts";

const RECORD = { ...PROJECT, bookmarked: "bookmarked" };
const FIELDS = `id ${Object.keys(RECORD).join(" ")}`;

const node = (json: Row) => ({
  id: globalId(`Project:${String(json["unique_name"]).replace(".", "/")}`),
  ...keysOf(json, RECORD),
});

const record = (owner: string, name: string): Asked => ({
  document: `{ thing: project(owner: "${owner}", name: "${name}") { ${FIELDS} } }`,
  told: node,
});

/** A command without an answer, which is told by the record behind it. */
const act = (mutation: string, name: string, behind: string): Asked => ({
  document: `mutation { thing: ${mutation}(id: "${name}") { project { ${FIELDS} } } }`,
  told: (_, after) => ({ project: node(after) }),
  behind,
});

const update = (name: string, input: string): Asked => ({
  document: `mutation { thing: updateProject(id: "${name}", input: { ${input} }) { previousId project { ${FIELDS} } } }`,
  told: (json) => ({
    previousId: globalId(`Project:${name.replace(".", "/")}`),
    project: node(json),
  }),
});

const bookmarkOnly = (name: string): Asked => ({
  document: `mutation { thing: bookmarkProject(id: "${name}") { project { uniqueName } } }`,
  told: () => ({ project: { uniqueName: name } }),
});

const REFUSED = { at: "thing", data: null };

const create = (input: string): Asked => ({
  // What the answer lacks would be read.
  document: `mutation { thing: createProject(input: { ${input} }) { project {
    id uniqueName description tags createdAt updatedAt isPublic readme
  } } }`,
  told: (json) => {
    const { uniqueName, description, tags, createdAt, updatedAt, isPublic, readme } = keysOf(json, PROJECT);
    const { id } = node(json);
    return { project: { id, uniqueName, description, tags, createdAt, updatedAt, isPublic, readme } };
  },
  refused: REFUSED,
});

export const PROJECT_ROWS: Readonly<Record<string, RecordedRow>> = {
  "bookmark a project": act("bookmarkProject", "alice.mnist", "its record"),
  "its record": record("alice", "mnist"),
  bookmarks: bookmarked("bookmarkedProjects", "projects", ""),
  unbookmark: act("unbookmarkProject", "alice.mnist", "its record after"),
  "its record after": record("alice", "mnist"),
  "foreign public project": bookmarkOnly("bob.open"),
  "foreign private project": { ...bookmarkOnly("bob.secret"), refused: REFUSED },
  "change a project": update("alice.mnist", `description: "Digits", tags: ["vision"], readme: "# Digits"`),
  "change its visibility": update("alice.mnist", "isPublic: false"),
  "and back": update("alice.mnist", "isPublic: true"),
  rename: update("alice.quick-start", `name: "start-quick"`),
  "and back (23)": update("alice.start-quick", `name: "quick-start"`),
  "create a project": create(`name: "fresh", description: "new", isPublic: false, tags: ["x"]`),
  "create it again": create(`name: "fresh"`),
  "a bad name": never("the gateway refuses the name itself"),
  "archive a project": act("archiveProject", "alice.fresh", "archived project"),
  "archived project": record("alice", "fresh"),
  archives: archived("archivedProjects", "projects", ""),
  restore: act("restoreProject", "alice.fresh", "restored"),
  restored: record("alice", "fresh"),
  "delete a project": {
    document: `mutation { thing: deleteProject(id: "alice.fresh") { deletedId } }`,
    told: () => ({ deletedId: globalId("Project:alice/fresh") }),
  },
  after: {
    ...record("alice", "fresh"),
    document: `{ thing: project(owner: "alice", name: "fresh") { name isPublic } }`,
    refused: REFUSED,
  },
};
