import { parse, validate } from "graphql";
import { expect, test } from "vitest";
import type { Renames } from "../../src/graphql/federation/rename.ts";
import { documentsFor, schemaFor } from "../../src/graphql/schema.ts";
import { pageOperations, signInOperation } from "../../src/http/bundled-operations.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { globalId } from "../support/ids.ts";

const RELAY = { Node: "ClusterNode", Entity: "Node" };
const env = { TYPE_NAMES: "relay, Job=TrainingJob" };

test("TYPE_NAMES=relay renames Node to ClusterNode, and Entity to Node", async () => {
  const { ask, calls } = await startDemoGateway({ env });
  const id = globalId("Node:node-1");
  const machine = { __typename: "ClusterNode", id, name: "node-1", memory: 33657483264 };
  expect(
    await ask<unknown, object>(
      `query ($id: ID!, $job: ID!) {
        node(id: $id) { __typename id ... on ClusterNode { name memory } }
        nodes(ids: [$job]) { __typename ... on Run { rawStatus } }
        clusterNode(id: "node-1") { __typename id name memory }
        job: trainingJob(id: "ada.mnist.jobs.2") { nodeScheduled { __typename id } }
        __type(name: "Node") { kind description fields { name } }
      }`,
      { id, job: globalId("Job:ada/mnist/2") },
    ),
  ).toEqual({
    data: {
      node: machine,
      nodes: [{ __typename: "TrainingJob", rawStatus: "running" }],
      clusterNode: machine,
      job: { nodeScheduled: { __typename: "ClusterNode", id: expect.stringMatching(/^Tm9kZTp/) } },
      __type: {
        kind: "INTERFACE",
        description: expect.stringContaining("global object identification"),
        fields: [{ name: "id" }],
      },
    },
  });
  expect(calls()).toEqual(["GET ada/mnist/jobs/2/", "GET cluster/"]);
});

test("representations accept only the type names of the subgraph", async () => {
  const { ask, calls } = await startDemoGateway({ env: { TYPE_NAMES: "Job=TrainingJob,Run=TrainingRun" } });
  const id = globalId("Job:ada/mnist/2");
  const representations = ["TrainingJob", "TrainingRun", "Job", "Run"].map((__typename) => ({
    __typename,
    id,
  }));
  const { data, errors } = await ask<unknown, object>(
    "query ($of: [_Any!]!) { _entities(representations: $of) { __typename ... on TrainingJob { id uniqueName } } }",
    { of: representations },
  );
  const job = { __typename: "TrainingJob", id, uniqueName: "ada.mnist.jobs.2" };
  expect(data).toEqual({ _entities: [job, job, null, null] });
  const message = (index: number) => `representations[${index}]: expected the __typename of an entity`;
  expect(errors?.map((error) => error.message)).toEqual([message(2), message(3)]);
  expect(calls()).toEqual([]);
});

test("a renamed type renames its mutations and connections, but not its ids", async () => {
  const { ask, calls } = await startDemoGateway({
    env: { TYPE_NAMES: "Job=TrainingJob", UPSTREAM_PROFILE: "polyaxon-0.4" },
  });
  const id = globalId("Job:ada/mnist/2");
  expect(
    await ask<unknown, object>(
      `mutation ($id: ID!, $input: UpdateRunInput!) {
        updateTrainingJob(id: $id, input: $input) {
          __typename job { __typename description project { jobs(first: 1) { __typename } } }
        }
        updateBuildJob(id: "ada.mnist.builds.1", input: $input) { __typename }
        stopTrainingJob(id: "${globalId("Group:ada/mnist/1")}") { __typename }
      }`,
      { id, input: { description: "renamed" } },
    ),
  ).toMatchObject({
    data: {
      updateTrainingJob: {
        __typename: "TrainingJobPayload",
        job: {
          __typename: "TrainingJob",
          description: "renamed",
          project: { jobs: { __typename: "TrainingJobConnection" } },
        },
      },
      updateBuildJob: { __typename: "BuildJobPayload" },
      stopTrainingJob: null,
    },
    errors: [{ message: "id: expected the id of a Job, got the id of a Group" }],
  });
  expect(calls()).toContain("PATCH ada/mnist/jobs/2/");
});

const NAMES: readonly Renames[] = [RELAY, { Job: "TrainingJob", User: "Person", Experiment: "Trial" }];

test.each(NAMES)("with %j, the subgraph and GraphiQL's operations use these names", async (renames) => {
  const served = schemaFor(renames);
  const rename = documentsFor(renames);
  expect(
    [signInOperation(rename), ...pageOperations(rename, { isDemo: true }).map(({ query }) => query)].flatMap(
      (query) => validate(served, parse(query)),
    ),
  ).toEqual([]);

  const TYPE_NAMES = Object.entries(renames)
    .map((pair) => pair.join("="))
    .join(",");
  const { ask } = await startDemoGateway({ env: { TYPE_NAMES } });
  const { data } = await ask<{ _service: { sdl: string } }, object>("{ _service { sdl } }");
  for (const [ours, theirs] of Object.entries(renames)) {
    expect(data._service.sdl).toMatch(new RegExp(`^(?:type|interface) ${theirs}\\b`, "m"));
    if (Object.values(renames).includes(ours)) continue;
    // As English words the names are allowed: "Experiment this one was restarted from".
    const code = data._service.sdl.replaceAll(/"""[^`]*?"""/g, "");
    expect(code).not.toMatch(new RegExp(`(?:[:&[] *|type |implements |\`)${ours}\\b`));
  }
});
