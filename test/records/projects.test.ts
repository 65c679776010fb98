import { describe, expect, test } from "vitest";
import { errorsOf, failure, outcomeOf, sortedErrorsOf } from "../support/errors.ts";
import { pageOf } from "../support/fake.ts";
import { RELEASE_02, RELEASE_04, startBefore } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

describe("the record of a project", () => {
  test("is read once for all runs of the project", async () => {
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

  test("is not read for the project's name and owner", async () => {
    const { ask, calls } = await startProfile();
    const id = globalId("Project:ada/nosuch");
    expect(await ask(`{ project(id: "ada.nosuch") { id uniqueName owner { username } } }`)).toEqual({
      data: { project: { id, uniqueName: "ada.nosuch", owner: { username: "ada" } } },
    });
    expect(calls()).toEqual([]);
  });

  test("is NOT_FOUND if the project is missing, and the project is null", async () => {
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

test("a renamed project is not found by its old name", async () => {
  const { ask, service } = await startBefore(
    { "ada/old": { name: "new", unique_name: "ada.new", description: "Renamed" } },
    RELEASE_04,
  );
  expect(outcomeOf(await ask(`{ project(id: "ada.old") { name description } }`))).toEqual({
    data: { project: null },
    errors: [failure("project", "NOT_FOUND", "Not found: ada.old. There is ada.new.")],
  });
  expect(service.calls()).toEqual(["GET ada/old"]);
});

describe("a project of release 0.2", () => {
  const COUNTS: Readonly<Record<string, number>> = { experiments: 720, groups: 3, jobs: 8, builds: 41 };
  const rows = Array.from({ length: 502 }, (_, index) => ({
    name: `p${index}`,
    description: `The ${index}th`,
  }));

  async function startWithoutRecords() {
    const { ask, service } = await startBefore(({ path }) => {
      const [, of = "", list = ""] = /^\/api\/v1\/ada(\/p\d+)?(?:\/(\w+))?\?/.exec(path) ?? [];
      if (path.startsWith("/api/v1/ada?")) return pageOf(rows, { path });
      return of && of !== "/p999" ? { json: { count: COUNTS[list], results: [{ id: 1 }] } } : undefined;
    }, RELEASE_02);
    return { ask, calls: service.calls };
  }
  const lengthOf = (project: string, list: string) => `GET ada/${project}/${list}?limit=1`;

  test("comes from its owner's list, with counts from lists of runs", async () => {
    const { ask, calls } = await startWithoutRecords();
    const fields = "name description experimentCount groupCount jobCount buildJobCount";
    expect(await ask(`{ project(id: "ada.p7") { ${fields} } }`)).toEqual({
      data: {
        project: {
          name: "p7",
          description: "The 7th",
          experimentCount: 720,
          groupCount: 3,
          jobCount: 8,
          buildJobCount: 41,
        },
      },
    });
    expect(calls()).toEqual([
      lengthOf("p7", "builds"),
      lengthOf("p7", "experiments"),
      lengthOf("p7", "groups"),
      lengthOf("p7", "jobs"),
      "GET ada?limit=500",
    ]);
  });

  test("takes only the requests that its selected fields need", async () => {
    const { ask, calls } = await startWithoutRecords();
    const answer = await ask(`{
      counted: project(id: "ada.p1") { jobCount }
      far: project(id: "ada.p501") { description }
      listed: projects(owner: "ada", first: 1) { nodes { description jobCount } }
      gone: project(id: "ada.p999") { description }
      unknown: project(id: "ada.p999") { jobCount }
    }`);
    expect(outcomeOf(answer)).toMatchObject({
      data: {
        counted: { jobCount: 8 },
        far: { description: "The 501th" },
        listed: { nodes: [{ description: "The 0th", jobCount: 8 }] },
        gone: null,
        unknown: null,
      },
      errors: [
        { at: "gone", code: "NOT_FOUND", message: "Not found: ada.p999.", upstream: { route: "{owner}" } },
        { at: "unknown", code: "NOT_FOUND", message: "Not found: ada.p999." },
      ],
    });
    expect(calls()).toEqual([
      lengthOf("p0", "jobs"),
      lengthOf("p1", "jobs"),
      lengthOf("p999", "jobs"),
      "GET ada?limit=1",
      "GET ada?limit=500",
      "GET ada?limit=500&offset=500",
    ]);
  });
});

describe("a user by name", () => {
  test("returns more than the name only for the caller", async () => {
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

  test("is found by id as well, with the same requests", async () => {
    const { ask, calls } = await startProfile();
    const query = `query ($ada: String!, $grace: String!) {
      ada: user(username: $ada) { id username email }
      grace: user(username: $grace) { id username email projects { totalCount } }
    }`;
    const answers = [];
    for (const given of [
      ["ada", "grace"],
      [globalId("User:ada"), globalId("User:grace")],
    ] as const) {
      answers.push(await ask(query, { ada: given[0], grace: given[1] }));
      expect(calls()).toEqual(["GET grace", "GET users/"]);
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]).toEqual({
      data: {
        ada: { id: globalId("User:ada"), username: "ada", email: "ada@example.com" },
        grace: { id: globalId("User:grace"), username: "grace", email: null, projects: { totalCount: 1 } },
      },
    });
  });

  test("is refused if the name is an id of another kind", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{ user(username: "${globalId("Job:ada/mnist/2")}") { id } }`);
    const message = "username: expected the id of a User, got the id of a Job";
    expect(errorsOf(answer)).toEqual([failure("user", "BAD_USER_INPUT", message)]);
    expect(calls()).toEqual([]);
  });

  test("is refused with an invalid name, or without a token", async () => {
    const { ask, calls } = await startProfile();
    const wrong = await ask(`{ user(username: "ada/mnist") { id } }`);
    expect(errorsOf(wrong)).toMatchObject([{ at: "user", code: "BAD_USER_INPUT" }]);
    const query = `{ user(username: "ada") { id } project(id: "ada.mnist") { name } }`;
    const nobody = await ask(query, {}, { token: null });
    const code = "UNAUTHENTICATED";
    expect(errorsOf(nobody)).toMatchObject(["user", "project"].map((at) => ({ at, code })));
    expect(calls()).toEqual([]);
  });
});

test("`projects` returns the projects of the caller or of the given owner", async () => {
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
