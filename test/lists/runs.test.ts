import { expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { failure, sortedErrorsOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";
import { RUN_LIST_NAMES, runListCall, runListOperation, runPageIn } from "../support/run-lists.ts";

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

test("the projects at the root are those of the caller, or of somebody else", async () => {
  const { ask, calls } = await startProfile();
  const answer = await ask(`{
    projects { nodes { uniqueName } totalCount }
    hers: projects(owner: "grace", first: 2) { nodes { uniqueName } totalCount }
  }`);
  const page = (...names: string[]) => ({
    nodes: names.map((uniqueName) => ({ uniqueName })),
    totalCount: names.length,
  });
  expect(answer).toEqual({ data: { projects: page("ada.speech", "ada.mnist"), hers: page("grace.vision") } });
  expect(calls()).toEqual(["GET ada", "GET grace?limit=2", "GET users/"]);
});
