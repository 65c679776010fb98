import { expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { pageOf, type Reply, type Seen } from "../support/fake.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/* The active runs on machines, found by one search for all machines of an operation. */

const gpu = (requests: unknown, limits: unknown = null) => ({ cpu: null, gpu: { requests, limits } });

const RECORDS: Readonly<Record<string, unknown>> = {
  "users/": { username: "ada" },
  "cluster/": { nodes: [{ name: "node-1", n_gpus: 4 }, { name: "node-2" }] },
  ada: [{ name: "mnist" }],
  "ada/mnist/experiments": [{ id: 42 }, { id: 41 }],
  "ada/mnist/experiments/42/jobs": [
    { id: 7, role: "master", node_scheduled: "node-1", resources: gpu(2) },
    { id: 8, role: "worker", node_scheduled: "node-2", resources: gpu(null, 1) },
    { id: 9, role: "worker", node_scheduled: null, resources: gpu(1) },
  ],
  "ada/mnist/experiments/41/jobs": [{ id: 6, role: "master", node_scheduled: "node-1", resources: null }],
  "ada/mnist/jobs": [{ id: 3 }, { id: 4 }],
  "ada/mnist/jobs/3/": { id: 3, node_scheduled: "node-1", resources: gpu(1) },
  "ada/mnist/jobs/4/": { id: 4, node_scheduled: "gone", resources: gpu(1) },
  "ada/mnist/builds": [{ id: 9, node_scheduled: "node-2", resources: null }],
};

async function startMachines(more: Readonly<Record<string, unknown>> = {}, env = {}) {
  const records: Readonly<Record<string, unknown>> = { ...RECORDS, ...more };
  const answer = (seen: Seen): Reply | undefined => {
    const { pathname } = new URL(seen.path, "http://service");
    const record = records[pathname.replace("/api/v1/", "")];
    if (record === undefined) return undefined;
    return Array.isArray(record) ? pageOf(record, seen) : { json: record };
  };
  return startBefore(answer, { ...RELEASE_04, ...env });
}

const USE = `{ gpusInUse isComplete runs { gpus run { reference } experimentJob { role } } }`;

const ACTIVE = `query=${encodeURIComponent("status:starting|running|warning|retrying|stopping")}&limit=500`;

const SEARCH = [
  `GET ada/mnist/builds?${ACTIVE}`,
  `GET ada/mnist/experiments/41/jobs?limit=500`,
  `GET ada/mnist/experiments/42/jobs?limit=500`,
  `GET ada/mnist/experiments?${ACTIVE}`,
  "GET ada/mnist/jobs/3/",
  "GET ada/mnist/jobs/4/",
  `GET ada/mnist/jobs?${ACTIVE}`,
];

const run = (reference: string, gpus: number | null, role: string | null = null) => ({
  gpus,
  run: { reference: `ada.mnist.${reference}` },
  experimentJob: role === null ? null : { role },
});

test("one search finds the active runs of all machines, with their GPUs", async () => {
  const { ask, service } = await startMachines({
    "ada/mnist/builds": [
      { id: 9, node_scheduled: "node-2", resources: null },
      { id: 5, node_scheduled: null, resources: null },
    ],
  });
  expect(await ask(`{ cluster { nodes { name activeRuns ${USE} } } }`)).toEqual({
    data: {
      cluster: {
        nodes: [
          {
            name: "node-1",
            activeRuns: {
              gpusInUse: 3,
              isComplete: true,
              runs: [
                run("experiments.42", 2, "master"),
                run("experiments.41", 0, "master"),
                run("jobs.3", 1),
              ],
            },
          },
          {
            name: "node-2",
            activeRuns: {
              gpusInUse: 1,
              isComplete: true,
              runs: [run("experiments.42", 1, "worker"), run("builds.9", 0)],
            },
          },
        ],
      },
    },
  });
  expect(service.calls()).toEqual(["GET ada?limit=500", ...SEARCH, "GET cluster/", "GET users/"].toSorted());
});

test("a search in given projects reads neither the caller nor other projects", async () => {
  const { ask, service } = await startMachines();
  const query = `query ($projects: [ID!]) { node(id: "node-2") { activeRuns(projects: $projects) { isComplete } } }`;
  expect(await ask(query, { projects: ["ada.mnist"] })).toEqual({
    data: { node: { activeRuns: { isComplete: true } } },
  });
  expect(service.calls()).toEqual([...SEARCH, "GET cluster/"].toSorted());
});

test("GPUs are unknown if a record does not contain them", async () => {
  const { ask } = await startMachines({
    "ada/mnist/experiments": [],
    "ada/mnist/jobs/3/": { id: 3, node_scheduled: "node-2", resources: gpu("some") },
  });
  expect(await ask(`{ node(id: "node-2") { activeRuns ${USE} } }`)).toEqual({
    data: {
      node: {
        activeRuns: { gpusInUse: null, isComplete: true, runs: [run("jobs.3", null), run("builds.9", 0)] },
      },
    },
  });
});

test.each([
  ["the limit of requests", { MAX_UPSTREAM_REQUESTS: "9" }],
  ["the limit of rows", { MAX_SCANNED_ROWS: "1" }],
])("a search that a limit stops is incomplete: %s", async (_, env) => {
  const { ask } = await startMachines({}, env);
  const incomplete = { activeRuns: { isComplete: false } };
  expect(await ask(`{ cluster { nodes { activeRuns { isComplete } } } }`)).toEqual({
    data: { cluster: { nodes: [incomplete, incomplete] } },
  });
});

test("a run that is deleted during a search is not active", async () => {
  const { ask } = await startMachines({ "ada/mnist/jobs/3/": undefined, "ada/mnist/experiments": [] });
  expect(await ask(`{ node(id: "node-1") { activeRuns ${USE} } }`)).toEqual({
    data: { node: { activeRuns: { gpusInUse: 0, isComplete: true, runs: [] } } },
  });
});

test.each([
  ["projects: []", "projects: expected 1 to 100, got 0"],
  [
    `projects: ["ada.mnist.3"]`,
    `projects[0]: expected a global id or a name such as ada.mnist, got "ada.mnist.3"`,
  ],
])("a search with %s is refused before it begins", async (args, message) => {
  const { ask, service } = await startMachines();
  const answer = await ask(`{ node(id: "node-1") { activeRuns(${args}) { isComplete } } }`);
  expect(outcomeOf(answer).errors).toEqual([failure("node.activeRuns", "BAD_USER_INPUT", message)]);
  expect(service.calls()).toEqual([]);
});

test("a search requires the capability LISTS, and an existing machine", async () => {
  const { ask } = await startMachines({}, { UPSTREAM_PROFILE: "document" });
  const first = await ask(`{ node(id: "node-1") { name activeRuns { isComplete } } }`);
  expect(errorsOf(first)).toMatchObject([{ code: "CAPABILITY_UNAVAILABLE" }]);
  const { ask: askLater } = await startMachines();
  const second = await askLater(`{ node(id: "node-9") { activeRuns { isComplete } } }`);
  expect(outcomeOf(second)).toEqual({
    data: { node: null },
    errors: [
      failure(
        "node",
        "NOT_FOUND",
        expect.stringContaining("The cluster lists no machine with this name.") as string,
      ),
    ],
  });
});
