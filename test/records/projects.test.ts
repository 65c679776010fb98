import { describe, expect, test } from "vitest";
import { errorsOf, sortedErrorsOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

describe("the record of a project", () => {
  test("is read once, however many runs lead to it", async () => {
    const { ask, calls } = await startProfile();
    const { data, errors } = await ask(`{
      project(id: "ada.mnist") {
        isPublic
        jobs(first: 2) { nodes { project { groupCount tags } } }
      }
      experiment(id: "ada.mnist.42") { project { description } }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: {
        isPublic: true,
        jobs: {
          nodes: [1, 2].map(() => ({ project: { groupCount: 2, tags: ["vision", "demo"] } })),
        },
      },
      experiment: { project: { description: "Handwritten digits: how small can a network be?" } },
    });
    expect(calls()).toEqual(["GET ada/mnist", "GET ada/mnist/experiments/42/", "GET ada/mnist/jobs?limit=2"]);
  });

  test("is not read for its name and its owner", async () => {
    const { ask, calls } = await startProfile();
    const id = globalId("Project:ada/nosuch");
    expect(await ask(`{ project(id: "ada.nosuch") { id uniqueName owner { username } } }`)).toEqual({
      data: { project: { id, uniqueName: "ada.nosuch", owner: { username: "ada" } } },
    });
    expect(calls()).toEqual([]);
  });

  test("shows that the project does not exist, which is null then", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{
      project(id: "ada.nosuch") { name createdAt }
      entity(id: "${globalId("Project:ada/neither")}") { id ... on Project { jobCount } }
    }`);
    expect(answer.data).toEqual({ project: null, entity: null });
    expect(sortedErrorsOf(answer)).toMatchObject([
      { at: "entity", code: "NOT_FOUND", upstream: { route: "{owner}/{project}" } },
      { at: "project", code: "NOT_FOUND", upstream: { route: "{owner}/{project}" } },
    ]);
    expect(calls()).toEqual(["GET ada/neither", "GET ada/nosuch"]);
  });
});

describe("a user by name", () => {
  test("tells more only of the caller", async () => {
    const { ask, calls } = await startProfile();
    expect(
      await ask(`{
        ada: user(username: "ada") { email }
        grace: user(username: "grace") { email isSuperuser }
      }`),
    ).toEqual({
      data: {
        ada: { email: "ada@example.com" },
        grace: { email: null, isSuperuser: null },
      },
    });
    expect(calls()).toEqual(["GET users/"]);
  });

  test("is BAD_USER_INPUT if the name cannot stand in a path, and UNAUTHENTICATED without a token", async () => {
    const { ask, calls } = await startProfile();
    const wrong = await ask(`{ user(username: "ada/mnist") { id } }`);
    expect(errorsOf(wrong)).toMatchObject([{ at: "user", code: "BAD_USER_INPUT" }]);
    const nobody = await ask(`{ user(username: "ada") { id } }`, {}, { token: null });
    expect(errorsOf(nobody)).toMatchObject([{ at: "user", code: "UNAUTHENTICATED" }]);
    expect(calls()).toEqual([]);
  });
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
