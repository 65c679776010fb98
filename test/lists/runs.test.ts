import { expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { failure, sortedErrorsOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";

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
