import { expect, test } from "vitest";
import { RELEASE_02, startBefore } from "../support/gateway.ts";
import { askIncrementally, merge } from "../support/incremental.ts";
import { SIGNED_IN } from "./build-of-a-run.ts";

/** Starts a service with three runs. Each run has its own build, but the build of the second run does not exist. */
async function start() {
  const results = [1, 2, 3].map((id) => ({
    id,
    unique_name: `ada.mnist.${id}`,
    // The record of the second run, which has the fields that its row lacks, cannot be read.
    ...(id !== 2 && { last_status: "running" }),
    build_job: `ada.mnist.builds.${id}`,
  }));
  const { url, service: upstream } = await startBefore(({ path }) => {
    if (path.includes("experiments?")) return { json: { count: 3, next: null, previous: null, results } };
    const id = Number(/builds\/(\d+)/.exec(path)?.[1]);
    return id === 2 ? undefined : { json: { id, description: `Build ${id}.` } };
  }, RELEASE_02);
  const ask = (nodes: string, variables = {}, fragment = "") => {
    const list = `project(id: "ada.mnist") { experiments(first: 3) { ${nodes} } }`;
    const query = (nodes + fragment).includes("$")
      ? `query ($count: Int! = 1, $on: Boolean! = true) { ${list} } ${fragment}`
      : `{ ${list} }`;
    return askIncrementally(url, { query, variables }, SIGNED_IN);
  };
  return { ask, calls: upstream.inOrder };
}

const NODES = `nodes @stream(initialCount: $count, if: $on, label: "runs") { buildJob { description } }`;
const PATH = ["project", "experiments", "nodes"];
const built = (id: number) => ({ buildJob: { description: `Build ${id}.` } });
const WHOLE = { project: { experiments: { nodes: [built(1), { buildJob: null }, built(3)] } } };
const missing = (index: number) => ({
  path: [...PATH, index, "buildJob"],
  extensions: { code: "NOT_FOUND" },
});

test("streamed items are read and delivered after the initial items, in order", async () => {
  const { ask, calls } = await start();
  const payloads = await ask(NODES);
  expect(payloads[0]).toEqual({
    data: { project: { experiments: { nodes: [built(1)] } } },
    pending: [{ id: "0", path: PATH, label: "runs" }],
    hasNext: true,
  });
  const { data, errors } = merge(payloads);
  expect(data).toEqual(WHOLE);
  expect(errors).toMatchObject([missing(1)]);
  const [list, first, ...others] = calls();
  expect([list, first]).toEqual(["GET ada/mnist/experiments?limit=3", "GET ada/mnist/builds/1/"]);
  expect(others.toSorted()).toEqual(["GET ada/mnist/builds/2/", "GET ada/mnist/builds/3/"]);
});

test("a streamed list nulled by an item reports the error and ends", async () => {
  const { ask } = await start();
  const { data, errors, failed } = merge(await ask(NODES.replace("buildJob", "status $&")));
  expect(data).toEqual({ project: { experiments: { nodes: [{ status: "RUNNING", ...built(1) }] } } });
  // The build of the item may fail before the item does.
  expect(errors.filter(({ extensions }) => extensions?.["code"] !== "NOT_FOUND")).toMatchObject([
    { path: PATH, extensions: { code: "UPSTREAM_BAD_RESPONSE" } },
  ]);
  expect(failed).toEqual([PATH]);
});

test.each([{ count: 3 }, { count: 9 }, { on: false }])(
  "sends a single payload with variables %j",
  async (variables) => {
    const { ask } = await start();
    const payloads = await ask(NODES, variables);
    expect(payloads).toMatchObject([{ errors: [missing(1)] }]);
    expect(payloads[0]).not.toHaveProperty("hasNext");
  },
);

test("delivers a list once when its fragment is also spread with @defer", async () => {
  const { ask } = await start();
  const fragment = `fragment Runs on ExperimentConnection { ${NODES} }`;
  expect(merge(await ask("...Runs ... @defer { ...Runs }", {}, fragment)).data).toEqual(WHOLE);
});

test("a negative initialCount is an error of the list", async () => {
  const { ask } = await start();
  expect(await ask(NODES, { count: -1 })).toMatchObject([
    { errors: [{ message: "initialCount: expected 0 or more, got -1" }] },
  ]);
});
