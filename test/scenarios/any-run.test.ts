import { describe, expect, test } from "vitest";
import { startAccepting } from "../support/any-command.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const start = async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service });
  return { ask, sent: service.inOrder };
};

const AMBIGUOUS =
  'id: expected ada.mnist.experiments.3 or ada.mnist.groups.3, got "ada.mnist.3", which can be the name of either';

describe("where an id can be of any kind", () => {
  test.each([
    ["ada.mnist.experiments.3", "Experiment", "experiments/3"],
    ["ada.mnist.1.3", "Experiment", "experiments/3"],
    ["ada.mnist.groups.2", "Group", "groups/2"],
    ["ada.mnist.jobs.5", "Job", "jobs/5"],
    ["ada.mnist.builds.7", "BuildJob", "builds/7"],
    [globalId("Group:ada/mnist/2"), "Group", "groups/2"],
  ])("%s is that of the %s", async (id, type, path) => {
    const { ask, sent } = await start();
    const of = `(id: "${id}") { __typename }`;
    expect(await ask(`{ run${of} entity${of} entities(ids: ["${id}"]) { __typename } }`)).toEqual({
      data: { run: { __typename: type }, entity: { __typename: type }, entities: [{ __typename: type }] },
    });
    expect(sent()).toEqual([`GET ada/mnist/${path}/`]);
  });

  test.each([
    ["ada.mnist.3", AMBIGUOUS],
    ["ada.mnist", 'id: expected a global id or a name such as ada.mnist.42, got "ada.mnist"'],
    [globalId("Project:ada/mnist"), "id: expected the id of a run, got the id of a Project"],
  ])("what names no run, or two, is refused unsent: %s", async (id, message) => {
    const { ask, sent } = await start();
    expect(outcomeOf(await ask(`{ run(id: "${id}") { id } }`))).toEqual({
      data: { run: null },
      errors: [failure("run", "BAD_USER_INPUT", message)],
    });
    expect(sent()).toEqual([]);
  });
});

test.each([
  ["experiment", "ada.mnist.experiments.3", "ada.mnist.groups.3", "ada.mnist.42"],
  ["group", "ada.mnist.groups.2", "ada.mnist.experiments.2", "ada.mnist.5"],
])("%s takes the plain name of its kind, and no other", async (field, name, other, example) => {
  const { ask, sent } = await start();
  const answer = await ask(`{ it: ${field}(id: "${name}") { uuid } no: ${field}(id: "${other}") { id } }`);
  const message = `id: expected a global id or a name such as ${example}, got "${other}"`;
  expect(outcomeOf(answer)).toMatchObject({
    data: { it: {}, no: null },
    errors: [failure("no", "BAD_USER_INPUT", message)],
  });
  expect(sent()).toEqual([expect.stringMatching(/^GET ada\/mnist\/\w+\/\d\/$/)]);
});
