import { expect, test } from "vitest";
import { RELEASE_02, startBefore, startGateway } from "../support/gateway.ts";
import { askIncrementally, merge } from "../support/incremental.ts";
import { BUILD, DEFERRED, EXPERIMENT, PIECES, SIGNED_IN, startBuilt } from "./build-of-a-run.ts";
import REFUSED from "./refused.json" with { type: "json" };

async function start(experiment: object = EXPERIMENT) {
  const { service: upstream, ...gateway } = await startBefore({
    "ada/mnist/experiments/3/": experiment,
    "ada/mnist/builds/7/": BUILD,
  });
  const ask = (query: string, variables = {}) =>
    askIncrementally(gateway.url, { query, variables }, SIGNED_IN);
  return { ask, calls: upstream.inOrder, gateway };
}

test("a deferred fragment is read and delivered after the initial result", async () => {
  const { ask, calls } = await start();
  const payloads = await ask(DEFERRED);
  expect(payloads).toEqual(PIECES);
  expect(calls()).toEqual(["GET ada/mnist/experiments/3/", "GET ada/mnist/builds/7/"]);
});

test("each fragment delivers its whole selection, even fields already in other payloads", async () => {
  const { ask, calls } = await start();
  const payloads = await ask(`{
    experiment(id: "ada.mnist.3") {
      buildJob { id }
      ...Labelled @defer(label: "a")
      ... @defer(label: "b") { buildJob { description } }
      ... @defer(label: "c") { buildJob { id } }
      ...Labelled
    }
  } fragment Labelled on Experiment { status }`);
  const build = { id: expect.any(String) };
  const path = ["experiment"];
  const [first, ...later] = payloads;
  expect(first).toEqual({
    data: { experiment: { buildJob: build, status: "RUNNING" } },
    pending: ["a", "b", "c"].map((label, index) => ({ id: `${index}`, path, label })),
    hasNext: true,
  });
  // Time slices decide which parts share a payload.
  const parts = later.flatMap(({ incremental = [] }) => incremental);
  expect(parts.toSorted((one, other) => one.id.localeCompare(other.id))).toEqual([
    { id: "0", data: { status: "RUNNING" } },
    { id: "1", data: { buildJob: { description: "A build." } } },
    { id: "2", data: { buildJob: build } },
  ]);
  expect(later.flatMap(({ completed = [] }) => completed.map(({ id }) => id)).toSorted()).toEqual([
    "0",
    "1",
    "2",
  ]);
  expect(later.map(({ hasNext }) => hasNext)).toEqual(later.map((_, index) => index < later.length - 1));
  expect(calls()).toEqual(["GET ada/mnist/experiments/3/", "GET ada/mnist/builds/7/"]);
});

test("a fragment with all fields skipped is delivered without fields", async () => {
  const { ask } = await start();
  const payloads = await ask(
    `{ experiment(id: "ada.mnist.3") { status ... @defer { id @skip(if: true) } } }`,
  );
  expect(payloads[1]).toEqual({
    incremental: [{ id: "0", data: {} }],
    completed: [{ id: "0" }],
    hasNext: false,
  });
});

test("a fragment deferred twice at one path is delivered once", async () => {
  const { ask } = await start();
  const payloads =
    await ask(`{ experiment(id: "ada.mnist.3") { ...A @defer ...A @defer ... { ...A @defer } } }
  fragment A on Experiment { status }`);
  expect(payloads).toEqual([
    { data: { experiment: {} }, pending: [{ id: "0", path: ["experiment"] }], hasNext: true },
    { incremental: [{ id: "0", data: { status: "RUNNING" } }], completed: [{ id: "0" }], hasNext: false },
  ]);
});

test("refuses fragments whose deferred spreads double per level, even without fields", async () => {
  const { ask, calls } = await start();
  const levels = Array.from({ length: 14 }, (_, level) => {
    const spread = `...f${level + 1} @defer`;
    return `fragment f${level} on Run { ${spread} ${spread}(label: "${level}") }`;
  }).join(" ");
  const last = "fragment f14 on Run { ... on Job { ... on Run { ... on Experiment { id } } } }";
  expect(await ask(`{ run(id: "ada.mnist.experiments.3") { ...f0 } } ${levels} ${last}`)).toMatchObject([
    { errors: [{ extensions: { code: "OPERATION_TOO_LARGE" } }] },
  ]);
  expect(calls()).toEqual([]);
});

test("refuses deferred introspection fragments that produce too many pending parts", async () => {
  const { gateway } = await start();
  const many = Array.from({ length: 90 }, () => "... @defer { name }").join(" ");
  const query = `{ __schema { types { fields { ${many} } } } }`;
  expect(await askIncrementally(gateway.url, { query })).toMatchObject([
    { errors: [{ extensions: { code: "OPERATION_TOO_LARGE" } }] },
  ]);
});

test("announces and sends no payload for values that have become null", async () => {
  const { ask, calls } = await start();
  const payloads = await ask(`{
    experiment(id: "ada.mnist.4") { status ... @defer { buildJob { description } statuses { totalCount } } }
  }`);
  expect(payloads).toMatchObject([{ data: { experiment: null }, errors: [{ path: ["experiment"] }] }]);
  expect(payloads[0]).not.toHaveProperty("hasNext");
  expect(calls()).toEqual(["GET ada/mnist/experiments/4/"]);
});

test("a payload contains its errors, and fails if an error propagates", async () => {
  const { ask } = await start({ ...EXPERIMENT, build_job: "ada.mnist.builds.8" });
  const payloads = await ask(`{
    experiment(id: "ada.mnist.3") {
      buildJob { id ... @defer(label: "build") { description } }
      ... @defer(label: "again") { again: buildJob { description } }
    }
  }`);
  expect(merge(payloads)).toMatchObject({
    data: { experiment: { buildJob: { id: expect.any(String) }, again: null } },
    errors: [
      { path: ["experiment", "again"], extensions: { code: "NOT_FOUND" } },
      { path: ["experiment", "buildJob"], extensions: { code: "NOT_FOUND" } },
    ],
    failed: [["experiment", "buildJob"]],
  });
});

test.each([
  "buildJob { status } ... @defer { buildJob { id commit } }",
  "... @defer { buildJob { status } } ... @defer { buildJob { id commit } }",
  "... @defer { buildJob { status } } buildJob { id ... @defer { commit } }",
  "... @defer { buildJob { status } } ... @defer { buildJob { id commit ... @defer { dockerfile } } }",
])("a value nulled by an error stays null across payloads: %s", async (fields) => {
  const { ask } = await startBefore(({ path }) => {
    if (path.includes("/builds/")) return { json: { detail: "No." }, status: 403 };
    const list = { count: 2, next: null, results: [EXPERIMENT, { ...EXPERIMENT, id: 4 }] };
    return { json: path.includes("experiments?") ? list : EXPERIMENT };
  }, RELEASE_02).then(({ url }) => ({ ask: (query: string) => askIncrementally(url, { query }, SIGNED_IN) }));
  const one = `{ experiment(id: "ada.mnist.3") { ${fields} } }`;
  expect(merge(await ask(one)).data).toEqual({ experiment: { buildJob: null } });
  const list = `{ project(id: "ada.mnist") { experiments(first: 2) { nodes @stream { ${fields} } } } }`;
  const nodes = [{ buildJob: null }, { buildJob: null }];
  expect(merge(await ask(list)).data).toEqual({ project: { experiments: { nodes } } });
});

test("result keys named like inherited object properties do not expose these properties", async () => {
  const { url } = await startBefore(() => ({ json: { detail: "No." }, status: 403 }));
  const query = `{ constructor: project(id: "ada.mnist") { fromEntries: description }
    toString: node(id: "node-1") { hostname } ... @defer { gateway { version } } }`;
  const payloads = await askIncrementally(url, { query }, SIGNED_IN);
  expect(Object.keys(payloads[1]?.incremental?.[0]?.data ?? {})).toEqual(["gateway"]);
  expect(Object.fromEntries).toBeTypeOf("function");
});

test("a deferred fragment of a mutation is read after the command", async () => {
  const upstream = await startBuilt();
  const { url } = await startGateway({ upstream });
  const query = `mutation { stopExperiment(id: "ada.mnist.3", force: true) {
    outcome ... @defer { experiment { buildJob { description } } }
  } }`;
  const payloads = await askIncrementally(url, { query }, SIGNED_IN);
  expect(payloads[0]).toMatchObject({ data: { stopExperiment: { outcome: "DONE" } }, hasNext: true });
  expect(merge(payloads).data).toEqual({
    stopExperiment: { outcome: "DONE", experiment: { buildJob: { description: "A build." } } },
  });
  expect(upstream.inOrder()[0]).toBe("POST ada/mnist/experiments/3/stop");
});

test.each(REFUSED)("%s is refused", async (query = "", message) => {
  const { gateway } = await start();
  const { errors = [] } = await gateway.ask(query);
  expect(errors.map((error) => error.message)).toContain(message);
});
