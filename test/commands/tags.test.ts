import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { onWire, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

/** A service with one set of labels. */
async function startTagged(tags: readonly string[] | null, profile = "polyaxon-0.4") {
  let present = tags;
  const service = await startFake(({ method, body }) => {
    if (method === "PATCH") present = (JSON.parse(body) as { tags: string[] }).tags;
    return { json: { id: 3, name: "mnist", unique_name: "ada.mnist", tags: present } };
  });
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: profile } });
  return {
    ask,
    sent: () => service.seen().map((seen) => [onWire(seen), seen.body].filter(Boolean).join(" ")),
  };
}

const update = (name: string, input: string) =>
  name === "Project"
    ? `mutation { done: updateProject(id: "ada.mnist", input: ${input}) { on: project { tags } } }`
    : `mutation { done: updateExperiment(id: "ada.mnist.3", input: ${input}) { on: experiment { tags } } }`;

test.each([
  ["Experiment", "ada/mnist/experiments/3/"],
  ["Project", "ada/mnist"],
])("labels of the %s are added and removed among those of now", async (name, path) => {
  const { ask, sent } = await startTagged(["a", "b"]);
  expect(await ask(update(name, `{ addTags: ["c", "a"], removeTags: ["b", "x"] }`))).toEqual({
    data: { done: { on: { tags: ["a", "c"] } } },
  });
  expect(sent()).toEqual([`GET ${path}`, `PATCH ${path} {"tags":["a","c"]}`]);
});

test("labels are added where there are none, beside another change", async () => {
  const { ask, sent } = await startTagged(null);
  await ask(update("Experiment", `{ addTags: ["c"], description: "Best" }`));
  expect(sent()).toEqual([
    "GET ada/mnist/experiments/3/",
    `PATCH ada/mnist/experiments/3/ {"description":"Best","tags":["c"]}`,
  ]);
});

test.each([
  [`{ tags: ["a"], addTags: ["b"] }`, "input.tags: expected `tags`, or `addTags` and `removeTags`, got both"],
  [`{ addTags: ["a"], removeTags: ["a"] }`, "input.removeTags: expected other tags than in `addTags`"],
  // Servers could not be asked for such a tag.
  [
    `{ tags: ["a", "b,c"] }`,
    'input.tags[1]: expected text without `,`, `|`, `:`, `..`, a sign of comparison or `~` at its start, or space around it, got "b,c"',
  ],
  [
    `{ addTags: [""] }`,
    'input.addTags[0]: expected text without `,`, `|`, `:`, `..`, a sign of comparison or `~` at its start, or space around it, got ""',
  ],
])("%s is refused unsent", async (input, message) => {
  const { ask, sent } = await startTagged([]);
  expect(outcomeOf(await ask(update("Experiment", input)))).toEqual({
    data: { done: null },
    errors: [failure("done", "BAD_USER_INPUT", message)],
  });
  expect(sent()).toEqual([]);
});

test("nothing is read where the server takes no labels", async () => {
  const { ask, sent } = await startTagged([], "document");
  const { errors } = await ask(update("Experiment", `{ addTags: ["a"] }`));
  expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["CAPABILITY_UNAVAILABLE"]);
  expect(sent()).toEqual([]);
});
