import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listIn } from "../support/listed.ts";
import { startProfile } from "../support/profiles.ts";
import BOOKMARKABLE from "./bookmarkable.json" with { type: "json" };
import OWNERS from "./bookmarks-of-others.json" with { type: "json" };

/** The run of the demo of each kind that is bookmarked and archived. */
const KINDS = {
  Experiment: { run: "ada.mnist.experiments.40", wire: "experiments" },
  Job: { run: "ada.mnist.jobs.3", wire: "jobs" },
  BuildJob: { run: "ada.mnist.builds.4", wire: "builds" },
  Group: { run: "ada.mnist.groups.1", wire: "groups" },
} as const;
type KindName = keyof typeof KINDS;
const KIND_NAMES = Object.keys(KINDS) as KindName[];

/** The name that the service uses for the run, and the kind of the run as `BookmarkableKind` spells it. */
const nameOf = (kind: KindName) => KINDS[kind].run.replace(/\.(?:experiments|groups)\./, ".");
const enumOf = (kind: KindName) => (kind === "BuildJob" ? "BUILD_JOB" : kind.toUpperCase());

describe("bookmarks and archives", () => {
  test.each(KIND_NAMES)(
    "contain a bookmarked and archived %s, and restoring keeps the bookmark",
    async (kind) => {
      const { run, wire } = KINDS[kind];
      const { ask, calls } = await startProfile();
      const path = `ada/mnist/${wire}/${run.split(".").at(-1)}`;
      const uniqueName = nameOf(kind);
      const listed = async (list: string) => {
        const answer = await ask(
          `{ viewer { list: ${list}(kind: ${enumOf(kind)}) { nodes { ... on Run { uniqueName } } } } }`,
        );
        return listIn(answer, "viewer.list").nodes.map((node) => node["uniqueName"]);
      };
      const lists = [`GET archives/ada/${wire}`, `GET bookmarks/ada/${wire}`, "GET users/", "GET users/"];
      for (const [mutation, isArchived, end] of [
        [`bookmarkRuns(ids: ["${run}"])`, null, "bookmark/"],
        [`archiveRuns(ids: ["${run}"])`, true, "archive"],
        [`archiveRuns(ids: ["${run}"], isArchived: false)`, false, "restore"],
      ]) {
        const fields = "uniqueName isBookmarked isArchived";
        expect(await ask(`mutation { done: ${mutation} { results { run { ${fields} } } } }`)).toEqual({
          data: { done: { results: [{ run: { uniqueName, isBookmarked: true, isArchived } }] } },
        });
        expect(calls()).toEqual([`GET ${path}/`, `POST ${path}/${end}`]);
        expect(await listed("bookmarks")).toContain(uniqueName);
        expect((await listed("archives")).includes(uniqueName)).toBe(isArchived === true);
        expect(calls()).toEqual(lists);
      }
    },
  );

  test("contain projects, and the list of projects omits archived projects", async () => {
    const { ask, calls } = await startProfile();
    const names = (...nodes: string[]) => ({ nodes: nodes.map((uniqueName) => ({ uniqueName })) });
    const fields = "nodes { ... on Project { uniqueName } }";
    expect(
      await ask(
        `{ viewer { bookmarks(kind: PROJECT) { ${fields} } archives(kind: PROJECT) { ${fields} } projects { ${fields} } } }`,
      ),
    ).toEqual({
      data: {
        viewer: {
          bookmarks: names("grace.vision"),
          archives: names("ada.attic"),
          projects: names("ada.speech", "ada.mnist"),
        },
      },
    });
    expect(calls()).toEqual([
      "GET ada",
      "GET archives/ada/projects",
      "GET bookmarks/ada/projects",
      "GET users/",
    ]);
  });
});

describe("fields of Bookmarkable", () => {
  const FIELDS = "__typename id reference name description tags isBookmarked isArchived createdAt updatedAt";

  test.each(BOOKMARKABLE)(
    "take no request beside the list: $list of the kind $kind",
    async ({ list, kind, call, node }) => {
      const { ask, calls } = await startProfile();
      expect(
        await ask(`{ viewer { list: ${list}(kind: ${kind}, first: 1) { nodes { ${FIELDS} } } } }`),
      ).toEqual({
        data: { viewer: { list: { nodes: [node] } } },
      });
      expect(calls()).toEqual([call, "GET users/"]);
    },
  );
});

describe("another user's list of bookmarks", () => {
  const document = `query ($id: ID!) { entity(id: $id) { ... on User {
    bookmarks(kind: EXPERIMENT) { nodes { reference isBookmarked } totalCount }
    archives(kind: EXPERIMENT) { totalCount }
  } } }`;

  // A bookmark in a superuser's view may belong to either user, so it is read separately.
  test.each(OWNERS)("$case", async ({ caller, owner, nodes, reads }) => {
    const { ask, calls, demo } = await startProfile();
    const id = globalId(`User:${owner}`);
    const message = "The service shows a user's bookmarks only to that user.";
    expect(outcomeOf(await ask(document, { id }, { token: tokenOf(demo, caller) }))).toEqual({
      data: {
        entity: { bookmarks: nodes && { nodes, totalCount: nodes.length }, archives: { totalCount: 0 } },
      },
      errors: nodes ? [] : [failure("entity.bookmarks", "FORBIDDEN", message)],
    });
    const lists = ["archives", "bookmarks"].map((list) => `GET ${list}/${owner}/experiments`);
    expect(calls()).toEqual([...reads, ...lists, ...(nodes ? [] : ["GET users/"])]);
  });
});

test("a row without a project fails only its own list", async () => {
  const { ask } = await startBefore(({ path }) => {
    const rows = path.includes("bookmarks")
      ? [{ content_object: { id: 1, unique_name: "ada.mnist.jobs.1" } }]
      : [];
    return { json: { count: rows.length, next: null, results: rows } };
  }, RELEASE_04);
  const lists = "bookmarks(kind: JOB) { totalCount } archives(kind: JOB) { totalCount }";
  expect(outcomeOf(await ask(`{ user(username: "ada") { ${lists} } }`))).toMatchObject({
    data: { user: { bookmarks: null, archives: { totalCount: 0 } } },
    errors: [{ at: "user.bookmarks", code: "UPSTREAM_BAD_RESPONSE" }],
  });
});

test("an archived run whose record is hidden is served from its row", async () => {
  const { ask } = await startBefore(({ path, method }) => {
    if (method === "POST") return { text: "" };
    if (path === "/api/v1/users/") return { json: { username: "ada" } };
    const row = { id: 3, project: "ada.mnist", last_status: "failed", deleted: true };
    return path.includes("archives") ? { json: { count: 1, next: null, results: [row] } } : undefined;
  }, RELEASE_04);
  const archived = await ask(
    `mutation { archiveRuns(ids: ["ada.mnist.jobs.3"]) { results { outcome run { id status } } } }`,
  );
  expect(outcomeOf(archived)).toMatchObject({
    data: { archiveRuns: { results: [{ outcome: "DONE", run: null }] } },
    errors: [],
  });
  const listed = await ask(
    "{ viewer { archives(kind: JOB) { nodes { ... on Job { status isArchived resources { raw } } } } } }",
  );
  expect(outcomeOf(listed)).toMatchObject({
    data: { viewer: { archives: { nodes: [{ status: "FAILED", isArchived: true, resources: null }] } } },
    errors: [{ at: "viewer.archives.nodes.0.resources", code: "NOT_FOUND" }],
  });
});
