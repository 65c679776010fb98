import { describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { startAccepting } from "../support/any-command.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { NOT_FOUND, startFake } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const start = async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service });
  return { ask, sent: service.inOrder };
};

describe("fields that accept ids of any kind", () => {
  test.each([
    ["ada.mnist.experiments.3", "Experiment", "experiments/3"],
    ["ada.mnist.1.3", "Experiment", "experiments/3"],
    ["ada.mnist.groups.2", "Group", "groups/2"],
    ["ada.mnist.jobs.5", "Job", "jobs/5"],
    ["ada.mnist.builds.7", "BuildJob", "builds/7"],
    [globalId("Group:ada/mnist/2"), "Group", "groups/2"],
  ])("resolve %s to the type %s", async (id, type, path) => {
    const { ask, sent } = await start();
    const of = `(id: "${id}") { __typename }`;
    expect(await ask(`{ run${of} entity${of} entities(ids: ["${id}"]) { __typename } }`)).toEqual({
      data: { run: { __typename: type }, entity: { __typename: type }, entities: [{ __typename: type }] },
    });
    expect(sent()).toEqual([`GET ada/mnist/${path}/`]);
  });

  test.each([
    ["ada.mnist", 'id: expected a global id or a name such as ada.mnist.42, got "ada.mnist"'],
    [globalId("Project:ada/mnist"), "id: expected the id of a run, got the id of a Project"],
  ])("refuse a value that names no run, without a request: %s", async (id, message) => {
    const { ask, sent } = await start();
    expect(outcomeOf(await ask(`{ run(id: "${id}") { id } }`))).toEqual({
      data: { run: null },
      errors: [failure("run", "BAD_USER_INPUT", message)],
    });
    expect(sent()).toEqual([]);
  });
});

describe("a name that an experiment and a group can have", () => {
  const BOTH = ["GET ada/mnist/experiments/3/", "GET ada/mnist/groups/3/"];

  /** A service in which the runs at some paths exist. */
  const startWith = async (...paths: readonly string[]) => {
    const service = await startFake(({ method, path }) => {
      const found = paths.some((each) => path.endsWith(`/${each}/3/`));
      if (method === "GET" && found) return { json: { id: 3, last_status: "running", tags: ["a"] } };
      return { json: { detail: "No." }, status: found ? 403 : 404 };
    });
    const { ask } = await startGateway({ upstream: service });
    return { ask, sent: service.calls };
  };

  test.each([
    ["experiments", "Experiment"],
    ["groups", "Group"],
  ])("is resolved if only one of them exists: %s", async (path, type) => {
    const { ask, sent } = await startWith(path);
    const id = globalId(`${type}:ada/mnist/3`);
    const reference = `ada.mnist.${path}.3`;
    const found = { __typename: type, id, reference, status: "RUNNING", tags: ["a"] };
    const of = "{ __typename id ... on Run { reference status tags } }";
    const query = `{ run(id: "ada.mnist.3") ${of} entity(id: "ada.mnist.3") ${of} entities(ids: ["ada.mnist.3"]) ${of} }`;
    expect(await ask(query)).toEqual({ data: { run: found, entity: found, entities: [found] } });
    expect(sent()).toEqual(BOTH);
  });

  test.each([
    [
      ["experiments", "groups"],
      "BAD_USER_INPUT",
      'id: expected ada.mnist.experiments.3 or ada.mnist.groups.3, got "ada.mnist.3", the name of both',
    ],
    [[], "NOT_FOUND", "Not found: ada.mnist.experiments.3 or ada.mnist.groups.3."],
  ])("is an error with both references if runs exist in %j", async (paths, code, message) => {
    const { ask, sent } = await startWith(...paths);
    expect(outcomeOf(await ask(`{ run(id: "ada.mnist.3") { id } }`))).toEqual({
      data: { run: null },
      errors: [failure("run", code, message)],
    });
    expect(sent()).toEqual(BOTH);
  });

  test("returns the error if one of the lookups fails", async () => {
    const { ask } = await startBefore(({ path }) =>
      path.includes("/groups/") ? { json: { detail: "No." }, status: 403 } : { json: { id: 3 } },
    );
    expect(errorsOf(await ask(`{ run(id: "ada.mnist.3") { id } }`))).toMatchObject([
      { at: "run", code: "FORBIDDEN", message: "No." },
    ]);
  });

  test("is UNAUTHENTICATED without a token, and nothing is sent", async () => {
    const { ask, sent } = await startWith("experiments");
    const answer = await ask(`{ run(id: "ada.mnist.3") { id } }`, {}, { token: null });
    expect(errorsOf(answer)).toMatchObject([{ at: "run", code: "UNAUTHENTICATED" }]);
    expect(sent()).toEqual([]);
  });

  test("is accepted by the operation WhyFailed", async () => {
    const { ask, calls } = await startDemoGateway();
    const operation = readFileSync("schema/operations/33-why-failed.graphql", "utf8");
    expect(await ask(operation, { id: "ada.mnist.42" })).toMatchObject({
      data: { run: { __typename: "Experiment", reference: "ada.mnist.experiments.42" } },
    });
    const sent = calls();
    expect(sent).toContain("GET ada/mnist/groups/42/");
    expect(sent.filter((each) => each === "GET ada/mnist/experiments/42/")).toHaveLength(1);
  });
});

test("representations accept references, and return references without a request", async () => {
  const service = await startFake(() => NOT_FOUND);
  const { ask } = await startGateway({ upstream: service });
  const ids = [
    ["Experiment", "ada/mnist/42", "ada.mnist.experiments.42"],
    ["ExperimentJob", "ada/mnist/42/7", "ada.mnist.experiments.42.7"],
    ["Job", "ada/mnist/3", "ada.mnist.jobs.3"],
    ["BuildJob", "ada/mnist/7", "ada.mnist.builds.7"],
    ["Group", "ada/mnist/5", "ada.mnist.groups.5"],
    ["Project", "ada/mnist", "ada.mnist"],
    ["Experiment", "a.b/mnist/42", "a.b.mnist.experiments.42"],
    ["ExperimentJob", "a.b/mnist/42/7", "a.b.mnist.experiments.42.7"],
  ].map(([type, path, reference]) => ({ __typename: type, id: globalId(`${type}:${path}`), reference }));
  const query = `query ($of: [_Any!]!) {
    _entities(representations: $of) {
      __typename
      ... on Trackable { id reference }
      ... on Project { id reference }
    }
  }`;
  const known = { data: { _entities: ids } };
  expect(await ask(query, { of: ids.map(({ __typename, id }) => ({ __typename, id })) })).toEqual(known);
  const byReference = ids.map(({ __typename, reference }) => ({ __typename, reference }));
  expect(await ask(query, { of: byReference })).toEqual(known);
  expect(service.inOrder()).toEqual([]);
});

test.each([
  ["experiment", "ada.mnist.experiments.42", "experiments/42/"],
  ["experimentJob", "ada.mnist.experiments.42.7", "experiments/42/jobs/7/"],
  ["job", "ada.mnist.jobs.3", "jobs/3/"],
  ["buildJob", "ada.mnist.builds.7", "builds/7/"],
  ["group", "ada.mnist.groups.5", "groups/5/"],
])("%s and entity accept the reference %s", async (field, reference, path) => {
  const { ask, sent } = await start();
  const of = `(id: "${reference}") { ... on Trackable { reference uuid } }`;
  const found = { reference, uuid: null };
  expect(await ask(`{ it: ${field}${of} entity${of} }`)).toEqual({ data: { it: found, entity: found } });
  expect(sent()).toEqual([`GET ada/mnist/${path}`]);
});

test.each([
  ["experiment", "ada.mnist.experiments.3", "ada.mnist.groups.3", "ada.mnist.42"],
  ["group", "ada.mnist.groups.2", "ada.mnist.experiments.2", "ada.mnist.5"],
])("%s accepts only references of its own kind", async (field, name, other, example) => {
  const { ask, sent } = await start();
  const answer = await ask(`{ it: ${field}(id: "${name}") { uuid } no: ${field}(id: "${other}") { id } }`);
  const message = `id: expected a global id or a name such as ${example}, got "${other}"`;
  expect(outcomeOf(answer)).toMatchObject({
    data: { it: {}, no: null },
    errors: [failure("no", "BAD_USER_INPUT", message)],
  });
  expect(sent()).toEqual([expect.stringMatching(/^GET ada\/mnist\/\w+\/\d\/$/)]);
});
