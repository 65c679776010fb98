import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { expect, test } from "vitest";
import {
  ExperimentPageDocument,
  NestedRunGraphDocument,
  OriginDocument,
  ProjectPageDocument,
} from "../generated/graphql.ts";
import { startDemoGateway, startDemoService, tokenOf } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";
import { startRounds } from "../support/rounds.ts";

const E42 = "ada/mnist/experiments/42";

/** The demo behind a service that answers in rounds. */
async function startInRounds(rounds: readonly (readonly string[])[]) {
  const demo = await startDemoService();
  const service = await startRounds(demo, rounds);
  const gateway = await startGateway({ upstream: service, token: tokenOf(demo, "ada") });
  return { ...gateway, ...service };
}

test.each<
  [page: string, document: TypedDocumentNode<unknown, { id: string }>, calls: readonly string[], id?: string]
>([
  ["an experiment", ExperimentPageDocument, ["ada/mnist/builds/2/", `${E42}/`, `${E42}/statuses?limit=20`]],
  ["a run's origin", OriginDocument, [`${E42}/`, `${E42}/coderef`]],
  ["a project", ProjectPageDocument, ["ada/mnist"], "ada.mnist"],
])(
  "the page of %s takes no other requests than it needs",
  async (_, document, expected, id = "ada.mnist.42") => {
    const { ask, calls } = await startProfile();
    const { data, errors } = await ask(document, { id });
    expect(errors).toBeUndefined();
    expect(Object.values(data as object)).toEqual([expect.objectContaining({ uniqueName: id })]);
    expect(calls()).toEqual(expected.map((path) => `GET ${path}`));
  },
);

const LISTS = [`${E42}/`, `${E42}/statuses`, `${E42}/metrics`, `${E42}/jobs`];

test.each([
  [
    "the page of an experiment",
    ExperimentPageDocument,
    [[`${E42}/`, `${E42}/statuses`], ["ada/mnist/builds/2/"]],
  ],
  [
    "a look-up with its lists",
    `{ experiment(id: "ada.mnist.42") {
      status statuses { nodes { status } } metrics { totalCount } jobs { nodes { role } }
    } }`,
    [LISTS],
  ],
  [
    "a look-up with its build and the machines of its jobs",
    `{ experiment(id: "ada.mnist.42") {
      status
      buildJob { commit }
      statuses { nodes { status } }
      metrics { totalCount }
      jobs { nodes { role nodeScheduled { name memory } } }
    } }`,
    [LISTS, ["ada/mnist/builds/2/", "cluster/"]],
  ],
])("%s takes no more rounds than its links make necessary", async (_, document, rounds) => {
  const { ask, strays, answered } = await startInRounds(rounds);
  const { errors } = await ask<unknown, object>(document, { id: "ada.mnist.42" });
  expect({ errors, strays, rounds: answered() }).toEqual({
    errors: undefined,
    strays: [],
    rounds: rounds.length,
  });
});

test("the nested graph asks no address twice, though its build and machines are named many times", async () => {
  const { ask, calls } = await startDemoGateway();
  const { data, errors } = await ask(NestedRunGraphDocument, { id: "ada.mnist.42" });
  expect(errors).toBeUndefined();
  expect(data.experiment?.original?.buildJob).toEqual(data.experiment?.buildJob);
  expect(data.experiment?.original?.original?.uniqueName).toBe("ada.mnist.4");
  expect(data.experiment?.jobs?.nodes.map(({ nodeScheduled }) => nodeScheduled?.kubeletVersion)).toEqual(
    Array.from({ length: 4 }, () => expect.any(String)),
  );
  expect(calls()).toEqual([
    "GET ada/mnist/builds/2/",
    "GET ada/mnist/builds/2/statuses",
    "GET ada/mnist/experiments/37/",
    "GET ada/mnist/experiments/4/",
    `GET ${E42}/`,
    `GET ${E42}/jobs`,
    `GET ${E42}/jobs/22/statuses/`,
    `GET ${E42}/jobs/23/statuses/`,
    `GET ${E42}/jobs/24/statuses/`,
    `GET ${E42}/jobs/25/statuses/`,
    `GET ${E42}/metrics`,
    `GET ${E42}/statuses`,
    "GET cluster/",
    "GET nodes/1",
    "GET nodes/2",
    "GET nodes/3",
  ]);
});

test("@include decides whether a link is loaded, fragments and aliases are seen through", async () => {
  const { ask, calls } = await startDemoGateway();
  const document = `
    query ($more: Boolean!) {
      experiment(id: "ada.mnist.1.9") { id group: experimentGroup { id ...More @include(if: $more) } }
    }
    fragment More on Run { ... on Trackable { state: status } }`;
  await ask(document, { more: false });
  expect(calls()).toEqual(["GET ada/mnist/experiments/9/"]);
  const { data } = await ask<{ experiment: unknown }, object>(document, { more: true });
  expect(calls()).toEqual(["GET ada/mnist/experiments/9/", "GET ada/mnist/groups/1/"]);
  expect(data.experiment).toMatchObject({ group: { state: "RUNNING" } });
});

test("a machine's summary costs the cluster document, its details one request more", async () => {
  const { ask, calls } = await startDemoGateway();
  await ask(`{ node(name: "node-1") { memory } }`);
  expect(calls()).toEqual(["GET cluster/"]);
  await ask(`{ node(name: "node-1") { memory kubeletVersion } }`);
  expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
  const { data } = await ask<{ node: object }, object>(
    `{ node(sequence: 3) { name memory kubeletVersion } }`,
  );
  expect(calls()).toEqual(["GET nodes/3"]);
  expect(data.node).toMatchObject({ name: "gpu-node.eu-1", memory: 270_144_200_704 });
});
