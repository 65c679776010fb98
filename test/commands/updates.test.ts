import { describe, expect, test } from "vitest";
import { startAccepting } from "../support/any-command.ts";
import { commandCalled } from "../support/commands.ts";
import { codesOf, errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { onWire, startFake, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { profileFile } from "../support/tracker.ts";
import REFUSED from "./refused-updates.json" with { type: "json" };
import RESTARTS from "./restarts.json" with { type: "json" };

/**
 * Starts a server with this profile that accepts every update. `sent` returns the requests that the server has received, with their bodies.
 */
async function start(profile = "polyaxon-0.4", written: object = { tags: [] }) {
  const service = await startFake(({ body }) => ({
    json: { id: 3, name: "mnist", unique_name: "ada.mnist", ...written, ...(body ? JSON.parse(body) : {}) },
  }));
  const env = { UPSTREAM_PROFILE: profile, CACHE_TTL_MS: "60000" };
  const { ask } = await startGateway({ upstream: service, env });
  const mutation = `mutation ($input: UpdateRunInput!) { updateExperiment(id: "ada.mnist.3", input: $input) { __typename } }`;
  const update = (input: object) => ask(mutation, { input });
  const sent = () =>
    service.seen().map((seen) => [onWire(seen), ...(seen.body ? [JSON.parse(seen.body) as object] : [])]);
  return { ask, update, sent };
}

const PATCH = "PATCH ada/mnist/experiments/3/";

test("a name that crashes the server is reported as taken", async () => {
  let reported: FakeResponse = { text: "", status: 405, headers: { "content-type": "text/html" } };
  const { ask, service } = await startBefore(() => reported, { UPSTREAM_PROFILE: "polyaxon-0.4" });
  const update = (field: string, id: string, input: string) =>
    ask(`mutation { done: ${field}(id: "${id}", input: { ${input} }) { __typename } }`);
  const codes = async (...given: readonly [string, string, string]) => codesOf(await update(...given));
  const message =
    'input.name: expected a name that is not taken, got "base": the server failed, as it does when the name is taken';
  for (const [field, id, route] of [
    ["updateExperiment", "ada.mnist.3", "{owner}/{project}/experiments/{id}/"],
    ["updateProject", "ada.mnist", "{owner}/{project}"],
  ] as const) {
    const details = { upstream: { method: "PATCH", route, status: 405 }, outcome: "unknown" };
    expect(outcomeOf(await update(field, id, `name: "base", description: "x"`))).toEqual({
      data: { done: null },
      errors: [failure("done", "BAD_USER_INPUT", message, details)],
    });
  }
  expect(await codes("updateExperiment", "ada.mnist.3", `description: "x"`)).toEqual(["UPSTREAM_ERROR"]);
  reported = { json: { detail: 'Method "PATCH" not allowed.' }, status: 405 };
  expect(await codes("updateExperiment", "ada.mnist.3", `name: "x"`)).toEqual(["UPSTREAM_UNSUPPORTED"]);
  expect(service.inOrder()).toEqual([PATCH, "PATCH ada/mnist", PATCH, PATCH]);
});

describe("an update", () => {
  test.each<object>([
    { name: "a-b_C9" },
    { tags: ["a", "b"] },
    { tags: null },
    { readme: "# Notes\n\n🎉" },
    { description: "d", name: null, tags: [], readme: null },
  ])("sends %j unchanged and nothing else", async (input) => {
    const { update, sent } = await start();
    expect(await update(input)).not.toHaveProperty("errors");
    expect(sent()).toEqual([[PATCH, input]]);
  });

  test("is sent to the path that the profile defines", async () => {
    const profile = { inputs: { update: { name: "title", tags: "meta.labels", readme: "meta.notes" } } };
    const { update, sent } = await start(profileFile(JSON.stringify(profile)));
    await update({ description: "d", name: "n", tags: ["t"], readme: "r" });
    expect(sent()).toEqual([[PATCH, { description: "d", title: "n", meta: { labels: ["t"], notes: "r" } }]]);
  });

  test.each(["updateExperiment", "updateJob", "updateBuildJob", "updateGroup"])(
    "by %s without changes returns BAD_USER_INPUT and sends nothing",
    async (name) => {
      const id = /id: "([^"]+)"/.exec(commandCalled(name).mutation)?.[1];
      const { ask, sent } = await start();
      const answer = await ask(`mutation ($text: String) {
        nothing: ${name}(id: "${id}", input: {}) { __typename }
        omitted: ${name}(id: "${id}", input: { description: $text }) { __typename }
      }`);
      const message = "input: expected at least one field to change, got none";
      expect(outcomeOf(answer)).toEqual({
        data: { nothing: null, omitted: null },
        errors: ["nothing", "omitted"].map((at) => failure(at, "BAD_USER_INPUT", message)),
      });
      expect(sent()).toEqual([]);
    },
  );

  test.each(REFUSED)(
    "with profile $profile and input $input is refused before being sent",
    async ({ profile, input, message }) => {
      const { update, sent } = await start(profile);
      const code = message.startsWith("input") ? "BAD_USER_INPUT" : "CAPABILITY_UNAVAILABLE";
      expect(outcomeOf(await update(input))).toEqual({
        data: { updateExperiment: null },
        errors: [failure("updateExperiment", code, message)],
      });
      expect(sent()).toEqual([]);
    },
  );
});

const UNREADABLE = "The service's answer cannot be used: tags is missing or not of the documented type.";

describe("adding and removing labels", () => {
  test.each([
    ["updateExperiment", "ada.mnist.3", "experiment", "ada/mnist/experiments/3/"],
    ["updateProject", "ada.mnist", "project", "ada/mnist"],
  ])("rereads the current labels first: %s", async (name, id, field, path) => {
    const { ask, sent } = await start("polyaxon-0.4", { tags: ["a", "b"] });
    const input = `{ addTags: ["c", "a"], removeTags: ["b", "x"] }`;
    const mutation = `mutation { done: ${name}(id: "${id}", input: ${input}) { ${field} { tags } } }`;
    await ask(`{ ${field}(id: "${id}") { tags } }`);
    expect(await ask(mutation)).toEqual({ data: { done: { [field]: { tags: ["a", "c"] } } } });
    expect(sent()).toEqual([[`GET ${path}`], [`GET ${path}`], [`PATCH ${path}`, { tags: ["a", "c"] }]]);
  });

  test("works without current labels, and together with another change", async () => {
    const { update, sent } = await start("polyaxon-0.4", { tags: null });
    await update({ addTags: ["c"], description: "Best" });
    expect(sent()).toEqual([["GET ada/mnist/experiments/3/"], [PATCH, { description: "Best", tags: ["c"] }]]);
  });

  test.each([
    ["of mixed types", { tags: ["keep", 5] }],
    ["that are not a list", { tags: "keep" }],
    ["that are absent", {}],
  ])("is refused for current labels %s", async (_, written) => {
    const { update, sent } = await start("polyaxon-0.4", written);
    for (const input of [{ addTags: ["c"] }, { removeTags: ["keep"], description: "Best" }])
      expect(outcomeOf(await update(input))).toEqual({
        data: { updateExperiment: null },
        errors: [failure("updateExperiment", "UPSTREAM_BAD_RESPONSE", UNREADABLE)],
      });
    expect(sent()).toEqual([["GET ada/mnist/experiments/3/"], ["GET ada/mnist/experiments/3/"]]);
  });
});

const RESTART = "POST ada/mnist/experiments/3/restart/";

describe("the options of a restart", () => {
  const startRestarting = async (profile: string) => {
    const { ask, sent } = await start(profile);
    const mutation = `mutation ($input: RestartExperimentInput) { restartExperiment(id: "ada.mnist.3", input: $input) { __typename } }`;
    return { restart: async (input?: object | null) => errorsOf(await ask(mutation, { input })), sent };
  };

  test.each(RESTARTS.sent)("$input are sent as $body", async ({ input, body }) => {
    const { restart, sent } = await startRestarting("polyaxon-0.4");
    expect(await restart(input)).toEqual([]);
    expect(sent()).toEqual([[RESTART, body]]);
  });

  test.each([[undefined], [null], [{}], [{ description: null }]])(
    "%j are sent without a body",
    async (input) => {
      const { restart, sent } = await startRestarting("document");
      expect(await restart(input)).toEqual([]);
      expect(sent()).toEqual([[RESTART]]);
    },
  );

  test.each(RESTARTS.refused)("are refused before being sent: $message", async ({ input, message }) => {
    const isOffered = !message.includes("offer");
    const { restart, sent } = await startRestarting(isOffered ? "polyaxon-0.4" : "document");
    const code = isOffered ? "BAD_USER_INPUT" : "CAPABILITY_UNAVAILABLE";
    expect(await restart(input)).toMatchObject([{ code, message: expect.stringContaining(message) }]);
    expect(sent()).toEqual([]);
  });

  test("are refused if their literals are inexact or deeply nested", async () => {
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const restart = async (given: string, variables = "") => {
      const input = `{ parameters: [${given}] }`;
      const field = `restartExperiment(id: "ada.mnist.3", input: ${input}) { __typename }`;
      return errorsOf(await ask(`mutation ${variables} { ${field} }`));
    };
    for (const digits of ["9007199254740993", "-9007199254740993.0", "90071992547409931e-1", "1e400"])
      expect(await restart(`{ name: "seeds", value: [1, ${digits}] }`)).toMatchObject([
        { message: expect.stringContaining(`which are kept, got ${digits}; write it as text`) },
      ]);
    expect(
      await restart('{ name: "seed", value: { seed: $seed } }', "($seed: Float = 9007199254740993)"),
    ).toMatchObject([{ code: "BAD_USER_INPUT" }]);
    expect(await restart(`{ name: "deep", value: ${"[".repeat(201)}${"]".repeat(201)} }`)).toMatchObject([
      { message: expect.stringContaining("JSON: expected at most 200 levels of nesting, got more") },
    ]);
    expect(service.seen()).toEqual([]);
    await restart(
      `{ name: "seed", value: "9007199254740993" }, { name: "high", value: 1e300 }, { name: "last", value: 9007199254740991 }, { name: "pi", value: 3.14159265358979323 }`,
    );
    expect(service.seen()[0]?.body).toBe(
      `{"config":{"declarations":{"seed":"9007199254740993","high":1e+300,"last":9007199254740991,"pi":3.141592653589793}}}`,
    );
  });
});
