import { expect, test } from "vitest";
import { ExperimentPageDocument, NestedRunGraphDocument } from "../generated/graphql.ts";
import { startDemoGateway, startDemoService, tokenOf } from "../support/demo-gateway.ts";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startRounds } from "../support/rounds.ts";

const E42 = "ada/mnist/experiments/42";

/** The demo behind a service that answers in rounds. */
async function startInRounds(rounds: readonly (readonly string[])[]) {
  const demo = await startDemoService();
  const service = await startRounds(demo, rounds);
  const gateway = await startGateway({ upstream: service, token: tokenOf(demo, "ada") });
  return { ...gateway, ...service };
}

test("the experiment page takes three requests: the run, its build and its statuses", async () => {
  const { ask, calls } = await startDemoGateway();
  const { data, errors } = await ask(ExperimentPageDocument, { id: "ada.mnist.42" });
  expect(errors).toBeUndefined();
  expect(data.experiment).toMatchObject({
    __typename: "Experiment",
    uniqueName: "ada.mnist.42",
    status: "SUCCEEDED",
    phase: "SUCCEEDED",
    isClone: true,
    original: { id: expect.any(String), uniqueName: "ada.mnist.37" },
    experimentGroup: null,
    buildJob: {
      uniqueName: "ada.mnist.builds.2",
      status: "SUCCEEDED",
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
    project: { uniqueName: "ada.mnist", name: "mnist", owner: { username: "ada" } },
  });
  expect(data.experiment?.statuses?.nodes.map(({ status }) => status)).toEqual([
    "CREATED",
    "BUILDING",
    "SCHEDULED",
    "STARTING",
    "RUNNING",
    "SUCCEEDED",
  ]);
  expect(calls()).toEqual([`GET ada/mnist/builds/2/`, `GET ${E42}/`, `GET ${E42}/statuses`]);
});

test("the experiment page takes two rounds: the build alone waits for the run", async () => {
  const { ask, strays, answered } = await startInRounds([
    [`${E42}/`, `${E42}/statuses`],
    ["ada/mnist/builds/2/"],
  ]);
  const { errors } = await ask(ExperimentPageDocument, { id: "ada.mnist.42" });
  expect({ errors, strays, rounds: answered() }).toEqual({ errors: undefined, strays: [], rounds: 2 });
});

test("a look-up with statuses, metrics and jobs takes one round", async () => {
  const { ask, strays, answered } = await startInRounds([
    [`${E42}/`, `${E42}/statuses`, `${E42}/metrics`, `${E42}/jobs`],
  ]);
  const { errors } = await ask(/* GraphQL */ `
    {
      experiment(id: "ada.mnist.42") {
        status
        statuses {
          nodes {
            status
          }
        }
        metrics {
          totalCount
        }
        jobs {
          nodes {
            role
          }
        }
      }
    }
  `);
  expect({ errors, strays, rounds: answered() }).toEqual({ errors: undefined, strays: [], rounds: 1 });
});

test("with the build and the machines of its jobs it takes two", async () => {
  const { ask, strays, answered } = await startInRounds([
    [`${E42}/`, `${E42}/statuses`, `${E42}/metrics`, `${E42}/jobs`],
    ["ada/mnist/builds/2/", "cluster/"],
  ]);
  const { errors } = await ask(/* GraphQL */ `
    {
      experiment(id: "ada.mnist.42") {
        status
        buildJob {
          commit
        }
        statuses {
          nodes {
            status
          }
        }
        metrics {
          totalCount
        }
        jobs {
          nodes {
            role
            nodeScheduled {
              name
              memory
            }
          }
        }
      }
    }
  `);
  expect({ errors, strays, rounds: answered() }).toEqual({ errors: undefined, strays: [], rounds: 2 });
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

test("a look-up reads the record even when its address tells all that is selected", async () => {
  const { ask, calls } = await startDemoGateway();
  const { data, errors } = await ask(/* GraphQL */ `
    {
      experiment(id: "ada.mnist.42") {
        __typename
        id
        internalId
        uniqueName
        project {
          id
          owner {
            username
          }
        }
        logsUrl
      }
      job(id: "ada.mnist.jobs.1") {
        id
        uniqueName
      }
      buildJob(id: "ada.mnist.builds.1") {
        id
        uniqueName
        outerName: uniqueName
      }
      node(name: "gpu-node.eu-1") {
        id
        name
      }
      cluster {
        id
      }
      project(owner: "ada", name: "mnist") {
        id
        uniqueName
        group(internalId: "1") {
          internalId
        }
      }
    }
  `);
  expect(errors).toBeUndefined();
  expect(data).toMatchObject({
    experiment: { __typename: "Experiment", internalId: "42", uniqueName: "ada.mnist.42" },
    job: { uniqueName: "ada.mnist.jobs.1" },
    project: { uniqueName: "ada.mnist", group: { internalId: "1" } },
  });
  expect(calls()).toEqual([
    "GET ada/mnist/builds/1/",
    "GET ada/mnist/experiments/42/",
    "GET ada/mnist/groups/1/",
    "GET ada/mnist/jobs/1/",
    "GET cluster/",
  ]);
});

test("a selection of a list alone does not ask for the record", async () => {
  const { ask, calls } = await startDemoGateway();
  await ask(`{ experiment(id: "ada.mnist.42") { id statuses { nodes { status } } } }`);
  expect(calls()).toEqual([`GET ${E42}/statuses`]);
});

test("@include decides whether a link is loaded, fragments and aliases are seen through", async () => {
  const { ask, calls } = await startDemoGateway();
  const document = /* GraphQL */ `
    query ($more: Boolean!) {
      experiment(id: "ada.mnist.1.9") {
        id
        group: experimentGroup {
          id
          ...More @include(if: $more)
        }
      }
    }
    fragment More on Run {
      ... on Trackable {
        state: status
      }
    }
  `;
  await ask(document, { more: false });
  expect(calls()).toEqual(["GET ada/mnist/experiments/9/"]);
  const { data } = await ask<{ experiment: unknown }, object>(document, { more: true });
  expect(calls()).toEqual(["GET ada/mnist/experiments/9/", "GET ada/mnist/groups/1/"]);
  expect(data.experiment).toMatchObject({ group: { state: "RUNNING" } });
});

test("fifty runs that link to five builds ask for five builds, and for no machine whose name is enough", async () => {
  const jobs = Array.from({ length: 50 }, (_, index) => `${index + 1}`);
  const service = await startRecords({
    ...Object.fromEntries(
      jobs.map((id) => [
        `ada/mnist/jobs/${id}/`,
        { id: Number(id), build_job: `ada.mnist.builds.${Number(id) % 5}`, node_scheduled: "node-1" },
      ]),
    ),
    ...Object.fromEntries([0, 1, 2, 3, 4].map((id) => [`ada/mnist/builds/${id}/`, { id, commit: `c${id}` }])),
  });
  const { ask } = await startGateway({ upstream: service });
  const fields = jobs.map(
    (id) => `j${id}: job(internalId: "${id}") { buildJob { commit } nodeScheduled { name } }`,
  );
  const { data, errors } = await ask<{ project: Record<string, unknown> }, object>(
    `{ project(owner: "ada", name: "mnist") { ${fields.join("\n")} } }`,
  );
  expect(errors).toBeUndefined();
  expect(data.project["j7"]).toEqual({ buildJob: { commit: "c2" }, nodeScheduled: { name: "node-1" } });
  expect(service.calls().filter((call) => !call.includes("/jobs/"))).toEqual(
    [0, 1, 2, 3, 4].map((id) => `GET ada/mnist/builds/${id}/`),
  );
  expect(service.calls()).toHaveLength(55);
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

test("details of a user are the caller's own; of others the name is known", async () => {
  const { ask, calls } = await startDemoGateway();
  const { data } = await ask<object, object>(/* GraphQL */ `
    {
      mine: experiment(id: "ada.mnist.42") {
        user {
          username
          isViewer
          email
        }
      }
      theirs: project(owner: "grace", name: "vision") {
        owner {
          username
          isViewer
          email
          isSuperuser
        }
      }
    }
  `);
  expect(data).toEqual({
    mine: { user: { username: "ada", isViewer: true, email: "ada@example.com" } },
    theirs: { owner: { username: "grace", isViewer: false, email: null, isSuperuser: null } },
  });
  expect(calls()).toEqual([`GET ${E42}/`, "GET users/"]);
});

test("entities of any kind are found by their ids, in order, each failing alone", async () => {
  const { ask, calls } = await startDemoGateway();
  const { data, errors } = await ask<object, object>(
    /* GraphQL */ `
      query ($ids: [ID!]!) {
        entities(ids: $ids) {
          __typename
          id
          ... on Run {
            status
          }
          ... on Node {
            role
          }
          ... on User {
            username
          }
        }
      }
    `,
    {
      ids: [
        globalId("Job:ada/mnist/1"),
        globalId("Job:ada/mnist/999"),
        globalId("Node:node-1"),
        globalId("User:grace"),
        "nonsense",
      ],
    },
  );
  expect(data).toEqual({
    entities: [
      { __typename: "Job", id: globalId("Job:ada/mnist/1"), status: "SUCCEEDED" },
      null,
      { __typename: "Node", id: globalId("Node:node-1"), role: expect.any(String) },
      { __typename: "User", id: globalId("User:grace"), username: "grace" },
      null,
    ],
  });
  expect(errors?.map(({ path, extensions }) => [path, extensions["code"]]).toSorted()).toEqual([
    [["entities", 1], "NOT_FOUND"],
    [["entities", 4], "BAD_USER_INPUT"],
  ]);
  expect(calls()).toEqual(["GET ada/mnist/jobs/1/", "GET ada/mnist/jobs/999/", "GET cluster/"]);
});
