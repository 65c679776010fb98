import { expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { NOT_FOUND, pathIn, startFake } from "../support/fake.ts";
import { RELEASE_02, RELEASE_04, startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";

/* Operations on projects and users that do not exist. */

test.each([
  ["name owner { username } uniqueName reference", null, []],
  ["description", "project", ["GET ada/nosuch"]],
  ["isPublic jobs { totalCount }", "project", ["GET ada/nosuch", "GET ada/nosuch/jobs"]],
  ["jobs { totalCount }", "project.jobs", ["GET ada/nosuch/jobs"]],
])("reads a missing project only as far as needed: %s", async (fields, at, requests) => {
  const { ask, calls } = await startProfile("polyaxon-0.4");
  const answer = await ask(`{ project(id: "ada.nosuch") { __typename ${fields} } }`);
  expect(errorsOf(answer)).toMatchObject(at === null ? [] : [{ at, code: "NOT_FOUND" }]);
  expect(answer.data).toMatchObject({ project: at === "project" ? null : { __typename: "Project" } });
  expect(calls()).toEqual(requests);
});

test("checks whether a group exists if its lists are empty or fail", async () => {
  const service = await startFake(({ path }) => {
    if (path.includes("/statuses")) return { json: { detail: "No." }, status: 403 };
    return path.includes("?group=7") ? { json: { count: 0, next: null, results: [] } } : NOT_FOUND;
  });
  const { ask } = await startGateway({ upstream: service, env: RELEASE_04 });
  const lists = "statuses { totalCount } experiments { totalCount }";
  expect(outcomeOf(await ask(`{ group(id: "ada.mnist.7") { ${lists} } }`))).toMatchObject({
    data: { group: null },
    errors: [{ at: "group", code: "NOT_FOUND" }],
  });
});

const EXISTS = (username: string) => `{ user(username: "${username}") { exists } }`;

const ROWS: Readonly<Record<string, object>> = {
  "users/": { username: "ada" },
  "ada?limit=1": { count: 0, results: [] },
  "bob?limit=1": { count: 2, results: [{ name: "mnist" }] },
  "eve?limit=1": { count: 0, results: [] },
};

const VIEWER = "GET users/";

test.each([
  ["the caller without a project", "ada", true, ["GET ada?limit=1", VIEWER]],
  ["an owner of a project", "bob", true, ["GET bob?limit=1"]],
  ["a user without a project", "eve", null, ["GET eve?limit=1", VIEWER]],
  ["nobody", "nil", false, ["GET nil?limit=1"]],
])("reports whether %s exists", async (__, username, exists, requests) => {
  const service = await startFake(({ path }) => {
    const json = ROWS[pathIn(path)];
    return json ? { json } : NOT_FOUND;
  });
  const { ask } = await startGateway({ upstream: service, env: RELEASE_02 });
  expect(await ask(EXISTS(username))).toEqual({ data: { user: { exists } } });
  expect(service.inOrder()).toEqual(requests);
});

test("without lists of projects, reports only that the caller exists", async () => {
  const service = await startFake(() => ({ json: { username: "ada" } }));
  const { ask } = await startGateway({ upstream: service });
  expect(await ask(EXISTS("bob"))).toEqual({ data: { user: { exists: null } } });
  expect(await ask(EXISTS("ada"))).toEqual({ data: { user: { exists: true } } });
  expect(await ask("{ viewer { exists } }")).toEqual({ data: { viewer: { exists: true } } });
  expect(service.inOrder()[0]).toBe(VIEWER);
});

test("reports the error if the list of projects fails", async () => {
  const service = await startFake(() => ({ json: { detail: "No." }, status: 403 }));
  const { ask } = await startGateway({ upstream: service, env: RELEASE_04 });
  expect(outcomeOf(await ask(EXISTS("bob")))).toMatchObject({
    data: { user: { exists: null } },
    errors: [failure("user.exists", "FORBIDDEN", "No.")],
  });
});
