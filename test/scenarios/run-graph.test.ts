import { expect, test } from "vitest";
import { ExperimentPageDocument } from "../generated/graphql.ts";
import { startDemoGateway, startDemoService, tokenOf } from "../support/demo-gateway.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startRounds } from "./rounds.ts";

const E42 = "ada/mnist/experiments/42";

const ofGroup = (selection: string) => `{ group(id: "ada.mnist.1") { ${selection} } }`;
const FIVE = "ada/mnist/experiments?group=1&limit=5";
const SOME = "ada/mnist/experiments?group=1&query=status%3Asucceeded&limit=5";
const METRICS = "ada/mnist/groups/1/metrics";

const LISTS = [`${E42}/`, `${E42}/statuses`, `${E42}/metrics`, `${E42}/jobs`];

test.each([
  [
    "the page of an experiment",
    ExperimentPageDocument,
    [[`${E42}/`, `${E42}/statuses`], ["ada/mnist/builds/2/"]],
  ],
  [
    "a lookup with its lists",
    `{ experiment(id: "ada.mnist.42") {
      status statuses { nodes { status } } metrics { totalCount } jobs { nodes { role } }
    } }`,
    [LISTS],
  ],
  [
    "a lookup with its build and the machines of its jobs",
    `{ experiment(id: "ada.mnist.42") {
      status
      buildJob { commit }
      statuses { nodes { status } }
      metrics { totalCount }
      jobs { nodes { role nodeScheduled { name memory } } }
    } }`,
    [LISTS, ["ada/mnist/builds/2/", "cluster/"]],
  ],
  [
    "the experiments of a group with their metrics",
    ofGroup("experiments(first: 5) { nodes { id metrics { totalCount } } }"),
    [[FIVE, METRICS]],
  ],
  [
    "the experiments of a group with their metrics, through an interface",
    ofGroup(
      "experiments(first: 5) { edges { node { ... on Run { ... on Experiment { metricSeries { name } } } } } }",
    ),
    [[FIVE, METRICS]],
  ],
  [
    "the experiments of a group beside the group's own record",
    ofGroup("status experiments(first: 5) { nodes { metrics { totalCount } } }"),
    [["ada/mnist/groups/1/", FIVE, METRICS]],
  ],
  [
    "a list with a filter, whose length is unknown",
    ofGroup(`experiments(first: 5, query: "status:succeeded") { nodes { metrics { totalCount } } }`),
    [[SOME], [METRICS]],
  ],
])("%s takes no more rounds than its links require", async (_, document, rounds) => {
  const demo = await startDemoService();
  const service = await startRounds(demo, rounds);
  const { strays, answered } = service;
  const env = String(document).includes("group(") ? RELEASE_04 : {};
  const { ask } = await startGateway({ upstream: service, token: tokenOf(demo, "ada"), env });
  const { errors } = await ask<unknown, object>(document, { id: "ada.mnist.42" });
  expect({ errors, strays, rounds: answered() }).toEqual({
    errors: undefined,
    strays: [],
    rounds: rounds.length,
  });
});

test("reading a machine takes one request, and its details take another", async () => {
  const { ask, calls } = await startDemoGateway();
  await ask(`{ node(id: "node-1") { memory } }`);
  expect(calls()).toEqual(["GET cluster/"]);
  await ask(`{ node(id: "node-1") { memory kubeletVersion } }`);
  expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
});

test("a machine with a dotted name is found by name or id", async () => {
  const { ask, calls } = await startDemoGateway();
  for (const id of ["gpu-node.eu-1", globalId("Node:gpu-node.eu-1")]) {
    const { data } = await ask<{ node: object }, object>(
      "query ($id: ID!) { node(id: $id) { id name memory kubeletVersion } }",
      { id },
    );
    expect(data.node).toMatchObject({
      id: globalId("Node:gpu-node.eu-1"),
      name: "gpu-node.eu-1",
      memory: 270_144_200_704,
    });
    expect(calls()).toEqual(["GET cluster/", "GET nodes/3"]);
  }
});
