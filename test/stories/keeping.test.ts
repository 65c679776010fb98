import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { codesOf, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type ProfileName, startProfile } from "../support/profiles.ts";

/** What is kept of each kind: the run of the demo that is bookmarked and archived, and what its list rows lack. */
const KINDS = {
  Experiment: { run: "ada.mnist.40", plural: "Experiments", wire: "experiments", beyond: "isClone jobCount" },
  Job: { run: "ada.mnist.jobs.3", plural: "Jobs", wire: "jobs", beyond: "isClone resources" },
  BuildJob: { run: "ada.mnist.builds.4", plural: "BuildJobs", wire: "builds", beyond: "commit dockerfile" },
  Group: { run: "ada.mnist.1", plural: "Groups", wire: "groups", beyond: "content currentIteration" },
} as const;
type KindName = keyof typeof KINDS;
const KIND_NAMES = Object.keys(KINDS) as KindName[];

const fieldOf = (text: string) => text.replace(/^./, (letter) => letter.toLowerCase());

interface Kept {
  readonly viewer: { readonly list: { readonly nodes: readonly Node[] } };
}
type Node = Readonly<Record<string, unknown>>;

describe("a run that is kept", () => {
  test.each(KIND_NAMES)(
    "%s: is among the bookmarks, then among the archived as well, and no longer once it is restored",
    async (kind) => {
      const { run, plural, wire } = KINDS[kind];
      const { ask, calls } = await startProfile();
      const id = run.split(".").at(-1);
      const path = `ada/mnist/${wire}/${id}`;
      const own = fieldOf(kind);

      const listed = async (list: string) => {
        const { data } = await ask<Kept, object>(`{ viewer { list: ${list} { nodes { uniqueName } } } }`);
        return data.viewer.list.nodes.map(({ uniqueName }) => uniqueName);
      };
      const lists = [`GET archives/ada/${wire}`, `GET bookmarks/ada/${wire}`, "GET users/", "GET users/"];
      for (const [verb, end] of [
        ["bookmark", "bookmark/"],
        ["archive", "archive"],
        ["restore", "restore"],
      ]) {
        expect(
          await ask(`mutation { done: ${verb}${kind}(id: "${run}") { ${own} { uniqueName bookmarked } } }`),
        ).toEqual({ data: { done: { [own]: { uniqueName: run, bookmarked: true } } } });
        expect(calls()).toEqual([`GET ${path}/`, `POST ${path}/${end}`]);
        expect(await listed(`bookmarked${plural}`)).toContain(run);
        expect((await listed(`archived${plural}`)).includes(run)).toBe(verb === "archive");
        expect(calls()).toEqual(lists);
      }
    },
  );

  test.each(KIND_NAMES)(
    "%s: what its row holds costs nothing more, `bookmarked` neither; what is beyond it one request",
    async (kind) => {
      const { run, plural, wire, beyond } = KINDS[kind];
      const { ask, calls } = await startProfile();
      const path = `ada/mnist/${wire}/${run.split(".").at(-1)}`;
      await ask(
        `mutation { a: bookmark${kind}(id: "${run}") { __typename } b: archive${kind}(id: "${run}") { __typename } }`,
      );
      calls();
      const fields = "id internalId uniqueName status bookmarked user { username } project { uniqueName }";
      for (const list of [`bookmarked${plural}`, `archived${plural}`]) {
        const nodeIn = async (selected: string) => {
          const { data, errors } = await ask<Kept, object>(
            `{ viewer { list: ${list}(first: 1) { nodes { ${selected} } } } }`,
          );
          expect(errors).toBeUndefined();
          return data.viewer.list.nodes[0];
        };
        const segment = list.startsWith("bookmarked") ? "bookmarks" : "archives";
        const reads = [`GET ${segment}/ada/${wire}?limit=1`, "GET users/"];
        expect(await nodeIn(fields)).toMatchObject({ uniqueName: run, bookmarked: true });
        expect(calls()).toEqual(reads);
        const whole = await nodeIn(`${fields} ${beyond}`);
        expect(calls()).toEqual([...reads, `GET ${path}/`].toSorted());
        const { data } = await ask(`{ record: ${fieldOf(kind)}(id: "${run}") { ${fields} ${beyond} } }`);
        expect(whole).toEqual((data as { record: Node }).record);
        calls();
      }
    },
  );

  test("projects are among the bookmarks and the archived, and in the list of projects unless archived", async () => {
    const { ask, calls } = await startProfile();
    const names = (...nodes: string[]) => ({ nodes: nodes.map((uniqueName) => ({ uniqueName })) });
    const lists = ["bookmarkedProjects", "archivedProjects", "projects"];
    const fields = lists.map((list) => `${list} { nodes { uniqueName } }`).join(" ");
    expect(await ask(`{ viewer { ${fields} } }`)).toEqual({
      data: {
        viewer: {
          bookmarkedProjects: names("grace.vision"),
          archivedProjects: names("ada.attic"),
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

describe("what somebody else keeps", () => {
  const document = `query ($id: ID!) { entity(id: $id) { ... on User {
    bookmarkedExperiments { nodes { uniqueName bookmarked } totalCount }
    archivedExperiments { totalCount }
  } } }`;

  // A superuser does not see whether it is a bookmark of that user or of the superuser as well: this is read.
  test.each([
    ["is an empty list on a server that shows it to nobody else", "grace", "ada", [], []],
    [
      "is shown to superusers by some servers",
      "ada",
      "grace",
      [{ uniqueName: "ada.mnist.1", bookmarked: false }],
      ["GET ada/mnist/experiments/1/"],
    ],
  ])("%s", async (_, caller, owner, nodes, reads) => {
    const { ask, calls, demo } = await startProfile();
    const id = globalId(`User:${owner}`);
    expect(await ask(document, { id }, { token: tokenOf(demo, caller) })).toEqual({
      data: {
        entity: {
          bookmarkedExperiments: { nodes, totalCount: nodes.length },
          archivedExperiments: { totalCount: 0 },
        },
      },
    });
    const lists = ["archives", "bookmarks"].map((list) => `GET ${list}/${owner}/experiments`);
    expect(calls()).toEqual([...reads, ...lists]);
  });
});

test("lists of what is kept are paged by offsets, one request a page", async () => {
  const service = await startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const offset = Number(searchParams.get("offset"));
    const rows = [1, 2, 3, 4, 5].map((id) => ({ content_object: { id, project: `ada.p${id}` } }));
    const results = rows.slice(offset, offset + Number(searchParams.get("limit")));
    return { json: { count: 5, next: null, results } };
  });
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const list = "bookmarkedJobs(first: 2, offset: 3) { nodes { uniqueName } pageInfo { hasPreviousPage } }";
  const nodes = [4, 5].map((id) => ({ uniqueName: `ada.p${id}.jobs.${id}` }));
  expect(await ask(`{ user(username: "ada") { ${list} } }`)).toEqual({
    data: { user: { bookmarkedJobs: { nodes, pageInfo: { hasPreviousPage: true } } } },
  });
  expect(service.calls()).toEqual(["GET bookmarks/ada/jobs?limit=2&offset=3"]);
});

test("a row that does not tell its project fails its list, not the others", async () => {
  const service = await startFake(({ path }) => {
    const rows = path.includes("bookmarks")
      ? [{ content_object: { id: 1, unique_name: "ada.mnist.jobs.1" } }]
      : [];
    return { json: { count: rows.length, next: null, results: rows } };
  });
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const lists = "bookmarkedJobs { totalCount } archivedJobs { totalCount }";
  expect(outcomeOf(await ask(`{ user(username: "ada") { ${lists} } }`))).toMatchObject({
    data: { user: { bookmarkedJobs: null, archivedJobs: { totalCount: 0 } } },
    errors: [{ at: "user.bookmarkedJobs", code: "UPSTREAM_BAD_RESPONSE" }],
  });
});

const plurals = [...KIND_NAMES.map((kind) => KINDS[kind].plural), "Projects"];
const listsOf = (kept: string) => plurals.map((plural) => `${kept}${plural}`);
const ACTS = ["archive", "restore"].flatMap((verb) =>
  KIND_NAMES.map((kind) => [`${verb}${kind}`, KINDS[kind].run] as const),
);

describe("a server without bookmarks or archives", () => {
  test.each<[ProfileName, readonly string[]]>([
    ["document", [...listsOf("bookmarked"), ...listsOf("archived")]],
    ["polyaxon-0.2", listsOf("archived")],
  ])("is asked for none: %s", async (profile, lists) => {
    const { ask, calls } = await startProfile(profile);
    const listed = await ask(
      `{ viewer { username ${lists.map((list) => `${list} { totalCount }`).join(" ")} } }`,
    );
    expect(listed.data).toEqual({
      viewer: { username: "ada", ...Object.fromEntries(lists.map((list) => [list, null])) },
    });
    expect(codesOf(listed)).toEqual(lists.map(() => "CAPABILITY_UNAVAILABLE"));
    expect(calls()).toEqual(["GET users/"]);

    const done = await ask(
      `mutation { ${ACTS.map(([name, run]) => `${name}(id: "${run}") { __typename }`).join(" ")} }`,
    );
    expect(done.data).toEqual(Object.fromEntries(ACTS.map(([name]) => [name, null])));
    expect(codesOf(done)).toEqual(ACTS.map(() => "CAPABILITY_UNAVAILABLE"));
    expect(calls()).toEqual([]);
  });
});

test("an archived run whose record a server no longer shows is still told by its row", async () => {
  const service = await startFake(({ path, method }) => {
    if (method === "POST") return { text: "" };
    if (path === "/api/v1/users/") return { json: { username: "ada" } };
    const row = { id: 3, project: "ada.mnist", last_status: "failed", deleted: true };
    return path.includes("archives") ? { json: { count: 1, next: null, results: [row] } } : undefined;
  });
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const archived = await ask(`mutation { archiveJob(id: "ada.mnist.jobs.3") { job { id status } } }`);
  expect(outcomeOf(archived)).toMatchObject({
    data: { archiveJob: { job: null } },
    errors: [{ at: "archiveJob.job", code: "NOT_FOUND" }],
  });
  const listed = await ask("{ viewer { archivedJobs { nodes { status isClone } } } }");
  expect(outcomeOf(listed)).toMatchObject({
    data: { viewer: { archivedJobs: { nodes: [{ status: "FAILED", isClone: null }] } } },
    errors: [{ at: "viewer.archivedJobs.nodes.0.isClone", code: "NOT_FOUND" }],
  });
});
