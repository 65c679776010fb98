import { expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { codesOf, failure, sortedErrorsOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";
import { RUN_LIST_NAMES, runListCall, runListOperation, runPageIn } from "../support/run-lists.ts";
import { inProject, startRows } from "./rows.ts";

test.each(RUN_LIST_NAMES)(
  "%s takes one request: for the server's own page, for `first`, after a cursor and after its end",
  async (list) => {
    const { ask, calls } = await startProfile();
    const read = async (variables: object, parameters: string) => {
      const page = runPageIn(await ask(runListOperation(list), variables));
      expect(calls()).toEqual([runListCall(list, parameters)]);
      return page;
    };
    const whole = await read({ first: 100 }, "limit=100");
    const { totalCount } = whole;
    expect(whole.keys).toHaveLength(totalCount ?? 0);
    expect(whole.keys.length).toBeGreaterThan(1);

    const own = await read({}, "");
    expect(own.keys).toEqual(whole.keys.slice(0, 20));
    expect(own).toMatchObject({ hasNextPage: whole.keys.length > 20, hasPreviousPage: false, totalCount });

    const first = await read({ first: 1 }, "limit=1");
    expect(first).toMatchObject({ hasNextPage: true, hasPreviousPage: false, totalCount });
    const rest = await read({ first: 60, after: first.endCursor }, "limit=60&offset=1");
    expect(rest).toMatchObject({ hasNextPage: false, hasPreviousPage: true, totalCount });
    expect([...first.keys, ...rest.keys]).toEqual(whole.keys);

    const after = await read({ after: rest.endCursor }, `offset=${whole.keys.length}`);
    expect(after).toEqual({
      keys: [],
      totalCount,
      hasNextPage: false,
      hasPreviousPage: true,
      endCursor: null,
    });
  },
);

test.each([
  ["none of it", "first: 0", "first: expected 1 to 500, got 0"],
  ["too much of it", "first: 501", "first: expected 1 to 500, got 501"],
  ["a place that is none", 'after: "nonsense"', 'after: expected a cursor of this list, got "nonsense"'],
  ["too long a filter", `query: "${"x".repeat(2_001)}"`, "query: expected at most 2000 characters, got 2001"],
])("a list with %s wanted is refused before anything is sent", async (_, args, message) => {
  const { ask, calls } = await startRows([]);
  const answer = await ask(inProject(`name jobs(${args}) { totalCount }`));
  expect(answer.data).toEqual({ project: { name: "mnist", jobs: null } });
  expect(sortedErrorsOf(answer)).toEqual([failure("project.jobs", "BAD_USER_INPUT", message)]);
  expect(calls()).toEqual([]);
});

test("a list of a project that nobody knows, or that is not the caller's, is an error in its place", async () => {
  const { ask, demo } = await startProfile();
  const projects = `{
    unknown: project(id: "ada.nothing") { name jobs { totalCount } }
    secret: project(id: "ada.speech") { name jobs { totalCount } }
    open: project(id: "ada.mnist") { jobs { totalCount } }
  }`;
  const answer = await ask(projects, {}, { token: tokenOf(demo, "grace") });
  expect(answer.data).toEqual({
    unknown: { name: "nothing", jobs: null },
    secret: { name: "speech", jobs: null },
    open: { jobs: { totalCount: 6 } },
  });
  const upstream = { method: "GET", route: "{owner}/{project}/jobs" };
  const forbidden = "You do not have permission to perform this action.";
  expect(sortedErrorsOf(answer)).toEqual([
    failure("secret.jobs", "FORBIDDEN", forbidden, { upstream: { ...upstream, status: 403 } }),
    failure("unknown.jobs", "NOT_FOUND", "Not found: ada.nothing.", {
      upstream: { ...upstream, status: 404 },
    }),
  ]);
});

test("a list without a token is UNAUTHENTICATED, and nothing is sent", async () => {
  const { ask, calls } = await startRows([]);
  const answer = await ask(inProject("jobs { totalCount }"), {}, { token: null });
  expect(answer.data).toEqual({ project: null });
  expect(codesOf(answer)).toEqual(["UNAUTHENTICATED"]);
  expect(calls()).toEqual([]);
});
