import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";
import { RUN_LIST_NAMES, runListCall, runListOperation, runPageIn } from "../support/run-lists.ts";

describe("a list of runs or projects", () => {
  test.each(RUN_LIST_NAMES)("%s without `first` is the server's own page, in one request", async (list) => {
    const { ask, calls } = await startProfile();
    const page = runPageIn(await ask(runListOperation(list), {}));
    expect(calls()).toEqual([runListCall(list, "")]);
    expect(page.keys).toHaveLength(Math.min(20, page.totalCount ?? 0));
    expect(page).toMatchObject({ hasNextPage: (page.totalCount ?? 0) > 20, hasPreviousPage: false });
  });

  test.each(RUN_LIST_NAMES)(
    "%s takes one request for `first: n`, and one behind its cursor",
    async (list) => {
      const { ask, calls } = await startProfile();
      const whole = runPageIn(await ask(runListOperation(list), { first: 100 }));
      expect(calls()).toEqual([runListCall(list, "limit=100")]);
      expect(whole.keys).toHaveLength(whole.totalCount ?? 0);
      expect(whole.keys.length).toBeGreaterThan(1);

      const first = runPageIn(await ask(runListOperation(list), { first: 1 }));
      expect(calls()).toEqual([runListCall(list, "limit=1")]);
      expect(first).toMatchObject({
        hasNextPage: true,
        hasPreviousPage: false,
        totalCount: whole.totalCount,
      });

      const rest = runPageIn(await ask(runListOperation(list), { first: 60, after: first.endCursor }));
      expect(calls()).toEqual([runListCall(list, "limit=60&offset=1")]);
      expect(rest).toMatchObject({ hasNextPage: false, hasPreviousPage: true, totalCount: whole.totalCount });
      expect([...first.keys, ...rest.keys]).toEqual(whole.keys);
    },
  );

  test.each(RUN_LIST_NAMES)("%s is empty behind its end, and says so", async (list) => {
    const { ask, calls } = await startProfile();
    const whole = runPageIn(await ask(runListOperation(list), { first: 60 }));
    const behind = runPageIn(await ask(runListOperation(list), { after: whole.endCursor }));
    expect(behind).toEqual({
      keys: [],
      totalCount: whole.totalCount,
      hasNextPage: false,
      hasPreviousPage: true,
      endCursor: null,
    });
    expect(calls()).toEqual(
      [runListCall(list, "limit=60"), runListCall(list, `offset=${whole.keys.length}`)].toSorted(),
    );
  });

  test("reads on behind the server's own page from where that ended", async () => {
    const { ask, calls } = await startProfile();
    const list = "Project.experiments";
    const first = runPageIn(await ask(runListOperation(list), {}));
    const second = runPageIn(await ask(runListOperation(list), { after: first.endCursor }));
    const third = runPageIn(await ask(runListOperation(list), { after: second.endCursor }));
    expect([first, second, third].map(({ keys }) => keys.length)).toEqual([20, 20, 6]);
    expect(new Set([...first.keys, ...second.keys, ...third.keys]).size).toBe(46);
    expect(third.hasNextPage).toBe(false);
    expect(calls()).toEqual([
      runListCall(list, ""),
      runListCall(list, "offset=20"),
      runListCall(list, "offset=40"),
    ]);
  });

  test("of a project that has none is empty, without an error", async () => {
    const { ask } = await startProfile();
    const { data, errors } = await ask(`{
      project(owner: "grace", name: "vision") {
        groups { nodes { id } edges { cursor } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: {
        groups: {
          nodes: [],
          edges: [],
          totalCount: 0,
          pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
        },
      },
    });
  });

  test.each([
    ["none of it", "first: 0", "first: expected 1 to 500, got 0"],
    ["too much of it", "first: 501", "first: expected 1 to 500, got 501"],
    ["a place that is none", 'after: "nonsense"', 'after: expected a cursor of this list, got "nonsense"'],
    [
      "too long a filter",
      `query: "${"x".repeat(2_001)}"`,
      "query: expected at most 2000 characters, got 2001",
    ],
  ])("with %s wanted is refused before anything is sent", async (_, args, message) => {
    const { ask, calls } = await startProfile("polyaxon-0.4", { MAX_PAGE_SIZE: "500" });
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { name jobs(${args}) { totalCount } } }`,
    );
    expect(answer.data).toEqual({ project: { name: "mnist", jobs: null } });
    expect(errorsOf(answer)).toEqual([{ at: "project.jobs", message, code: "BAD_USER_INPUT" }]);
    expect(calls()).toEqual([]);
  });

  test("of a project that nobody knows, or that is not the caller's, is an error in its place", async () => {
    const { ask, demo } = await startProfile();
    const answer = await ask(
      `{
        unknown: project(owner: "ada", name: "nothing") { name jobs { totalCount } }
        secret: project(owner: "ada", name: "speech") { name jobs { totalCount } }
        open: project(owner: "ada", name: "mnist") { jobs { totalCount } }
      }`,
      {},
      { token: tokenOf(demo, "grace") },
    );
    expect(answer.data).toEqual({
      unknown: { name: "nothing", jobs: null },
      secret: { name: "speech", jobs: null },
      open: { jobs: { totalCount: 6 } },
    });
    const upstream = { method: "GET", route: "{owner}/{project}/jobs" };
    expect(errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`))).toEqual([
      {
        at: "secret.jobs",
        code: "FORBIDDEN",
        message: "You do not have permission to perform this action.",
        upstream: { ...upstream, status: 403 },
      },
      {
        at: "unknown.jobs",
        code: "NOT_FOUND",
        message: "Not found.",
        upstream: { ...upstream, status: 404 },
      },
    ]);
  });

  test("without a token is UNAUTHENTICATED, and nothing is sent", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { jobs { totalCount } } }`,
      {},
      { token: null },
    );
    expect(answer.data).toEqual({ project: null });
    expect(answer.errors).toMatchObject([{ path: ["project"], extensions: { code: "UNAUTHENTICATED" } }]);
    expect(calls()).toEqual([]);
  });
});
