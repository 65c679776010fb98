import { expect, test } from "vitest";
import type { Answer } from "../../support/gateway.ts";
import { globalId } from "../../support/ids.ts";
import { startGraph, type StartRouter } from "./graph.ts";
import { type ModelRow, startJobBoard, startReviews } from "./subgraphs.ts";

const MODELS: readonly ModelRow[] = [
  ["digits", "production", "ada.mnist.42"],
  ["digits-small", "archived", "ada.mnist.1"],
];

const GROUP = [...numbers(9, 28), ...numbers(43, 46)];

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The error codes of a response, by the paths to which they apply. */
export const codesOf = ({ errors = [] }: Answer<unknown>): Record<string, unknown> =>
  Object.fromEntries(errors.map(({ path = [], extensions }) => [path.join("."), extensions["code"]]));

/** Tests that pass with every router. */
export function routerTests(startRouter: StartRouter): void {
  test("one query returns models, their experiments and builds, and notes on both", async () => {
    const { ask, calls } = await startGraph(startRouter, { models: MODELS });
    const answer = await ask(`{
      models { name stage trainedBy { uniqueName status notes models { name } buildJob { status notes commit } } }
    }`);
    expect(answer).toEqual({
      data: {
        models: [
          {
            name: "digits",
            stage: "production",
            trainedBy: {
              uniqueName: "ada.mnist.42",
              status: "SUCCEEDED",
              notes: ["about Experiment:ada/mnist/42"],
              models: [{ name: "digits" }],
              buildJob: {
                status: "SUCCEEDED",
                notes: ["about BuildJob:ada/mnist/2"],
                commit: "90e7715b30feb00de42523cce447dc8b186d83a9",
              },
            },
          },
          {
            name: "digits-small",
            stage: "archived",
            trainedBy: {
              uniqueName: "ada.mnist.1",
              status: "SUCCEEDED",
              notes: ["about Experiment:ada/mnist/1"],
              models: [{ name: "digits-small" }],
              buildJob: {
                status: "SUCCEEDED",
                notes: ["about BuildJob:ada/mnist/1"],
                commit: "0daf388c796be0b35828f74c2a72c4005c32c43b",
              },
            },
          },
        ],
      },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/builds/1/",
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments/1/",
      "GET ada/mnist/experiments/42/",
    ]);
  });

  test("runs referenced by id resolve with the fields of their kinds", async () => {
    const { ask, calls } = await startGraph(startRouter, {
      models: MODELS,
      pinned: ["Experiment:ada/mnist/42", "Job:ada/mnist/1", "BuildJob:ada/mnist/2", "Group:ada/mnist/1"],
    });
    const answer = await ask(`{
      pinnedRuns {
        __typename
        notes
        status
        ... on Experiment { jobCount models { name } }
        ... on Job { buildJob { uniqueName } }
        ... on Group { experimentCounts { total } }
      }
    }`);
    expect(answer).toEqual({
      data: {
        pinnedRuns: [
          {
            __typename: "Experiment",
            notes: ["about Experiment:ada/mnist/42"],
            status: "SUCCEEDED",
            jobCount: 4,
            models: [{ name: "digits" }],
          },
          {
            __typename: "Job",
            notes: ["about Job:ada/mnist/1"],
            status: "SUCCEEDED",
            buildJob: { uniqueName: "ada.mnist.builds.1" },
          },
          { __typename: "BuildJob", notes: ["about BuildJob:ada/mnist/2"], status: "SUCCEEDED" },
          {
            __typename: "Group",
            notes: ["about Group:ada/mnist/1"],
            status: "RUNNING",
            experimentCounts: { total: 24 },
          },
        ],
      },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments/42/",
      "GET ada/mnist/groups/1/",
      "GET ada/mnist/jobs/1/",
    ]);
  });

  test("runs of every kind resolve by reference without an upstream request", async () => {
    const references = [
      "ada.mnist.experiments.42",
      "ada.mnist.jobs.1",
      "ada.mnist.builds.2",
      "ada.mnist.groups.1",
    ];
    const { ask, calls } = await startGraph(startRouter, { others: [await startReviews(references)] });
    const types = ["Experiment", "Job", "BuildJob", "Group"];
    expect(await ask("{ reviewedRuns { __typename reference review project { uniqueName } } }")).toEqual({
      data: {
        reviewedRuns: references.map((reference, index) => ({
          __typename: types[index],
          reference,
          review: `of ${reference}`,
          project: { uniqueName: "ada.mnist" },
        })),
      },
    });
    expect(calls()).toEqual([]);
    expect(await ask(`{ group(id: "ada.mnist.1") { review } }`)).toEqual({
      data: { group: { review: "of ada.mnist.groups.1" } },
    });
    expect(calls()).toEqual(["GET ada/mnist/groups/1/"]);
  });

  test("fields that a name or an id contains cause no upstream request", async () => {
    const { ask, calls } = await startGraph(startRouter, { models: MODELS, pinned: ["Job:ada/mnist/1"] });
    const answer = await ask(`{
      models { trainedBy { id uniqueName notes project { uniqueName } } }
      pinnedRuns { __typename id notes uniqueName }
    }`);
    expect(answer).toMatchObject({
      data: {
        models: [
          {
            trainedBy: {
              id: globalId("Experiment:ada/mnist/42"),
              notes: ["about Experiment:ada/mnist/42"],
              project: { uniqueName: "ada.mnist" },
            },
          },
          { trainedBy: { uniqueName: "ada.mnist.1" } },
        ],
        pinnedRuns: [{ __typename: "Job", uniqueName: "ada.mnist.jobs.1" }],
      },
    });
    expect(calls()).toEqual([]);
  });

  test.each([
    { profile: "document", experiments: GROUP.map((id) => `GET ada/mnist/experiments/${id}/`) },
    {
      profile: "polyaxon-0.4",
      experiments: [`GET ada/mnist/experiments?query=id%3A${GROUP.join("%7C")}&limit=100`],
    },
  ])("24 experiments and their two builds are each read once: $profile", async (server) => {
    const { ask, calls } = await startGraph(startRouter, {
      models: GROUP.map((id) => [`model-${id}`, "candidate", `ada.mnist.1.${id}`]),
      env: { UPSTREAM_PROFILE: server.profile },
    });
    const { data, errors } = await ask("{ models { trainedBy { status buildJob { commit } } } }");
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ models: { length: 24 } });
    expect(calls()).toEqual(
      ["GET ada/mnist/builds/1/", "GET ada/mnist/builds/2/", ...server.experiments].toSorted(),
    );
  });

  test("the caller's token reaches the gateway", async () => {
    const { ask, calls } = await startGraph(startRouter);
    const query = "{ viewer { username } }";
    expect(await ask(query)).toEqual({ data: { viewer: { username: "ada" } } });
    expect(await ask(query, { user: "grace" })).toEqual({ data: { viewer: { username: "grace" } } });
    expect(calls()).toEqual(["GET users/", "GET users/"]);
  });

  test("without a token, the gateway's code is returned and other subgraphs respond", async () => {
    const { ask, calls } = await startGraph(startRouter, { models: MODELS });
    const answer = await ask("{ models { name } viewer { username } }", { user: null });
    expect(answer.data).toEqual({ models: [{ name: "digits" }, { name: "digits-small" }], viewer: null });
    expect(codesOf(answer)).toEqual({ viewer: "UNAUTHENTICATED" });
    expect(calls()).toEqual([]);
  });

  test("a link to a missing record is null with the gateway's error", async () => {
    const { ask } = await startGraph(startRouter, {
      models: [...MODELS, ["lost", "archived", "ada.mnist.9999"], ["mistaken", "archived", "on my laptop"]],
    });
    const query = "{ models { name trainedBy { status notes } } }";
    const answer = await ask(query, { requestId: "request-7" });
    expect(answer.data).toEqual({
      models: [
        { name: "digits", trainedBy: { status: "SUCCEEDED", notes: ["about Experiment:ada/mnist/42"] } },
        { name: "digits-small", trainedBy: { status: "SUCCEEDED", notes: ["about Experiment:ada/mnist/1"] } },
        { name: "lost", trainedBy: null },
        { name: "mistaken", trainedBy: null },
      ],
    });
    expect(codesOf(answer)).toEqual({
      "models.2.trainedBy": "NOT_FOUND",
      "models.3.trainedBy": "BAD_USER_INPUT",
    });
    expect(answer.errors?.find(({ extensions }) => extensions["code"] === "NOT_FOUND")).toMatchObject({
      message: expect.stringMatching(/^Not found: \w+\.mnist\.experiments\.\d+\.$/),
      extensions: {
        requestId: "request-7",
        upstream: { method: "GET", route: "{owner}/{project}/experiments/{id}/", status: 404 },
      },
    });
  });

  test("a link to a deleted run is null, and other links resolve", async () => {
    const { ask } = await startGraph(startRouter, { pinned: ["Job:ada/mnist/999", "Job:ada/mnist/1"] });
    const answer = await ask("{ pinnedRuns { status notes } }");
    expect(answer.data).toEqual({
      pinnedRuns: [null, { status: "SUCCEEDED", notes: ["about Job:ada/mnist/1"] }],
    });
    expect(codesOf(answer)).toEqual({ "pinnedRuns.0": "NOT_FOUND" });
  });

  test("a subgraph that is down does not affect data of other subgraphs", async () => {
    const { ask, registry } = await startGraph(startRouter, { models: MODELS });
    await registry.stop();
    const { data, errors = [] } = await ask(
      `{ models { name } experiment(id: "ada.mnist.42") { status notes models { name } } }`,
    );
    expect(data).toEqual({
      models: null,
      experiment: { status: "SUCCEEDED", notes: ["about Experiment:ada/mnist/42"], models: null },
    });
    expect(errors).toHaveLength(2);
  });

  test("a mutation is sent once and returns fields of other subgraphs", async () => {
    const { ask, calls } = await startGraph(startRouter, { models: MODELS });
    const answer = await ask(`mutation {
      updateExperiment(id: "ada.mnist.42", input: { description: "Shipped" }) {
        experiment { description notes models { name stage } }
      }
      stopJob(id: "ada.mnist.jobs.2", force: true) { job { status notes } }
    }`);
    expect(answer).toEqual({
      data: {
        updateExperiment: {
          experiment: {
            description: "Shipped",
            notes: ["about Experiment:ada/mnist/42"],
            models: [{ name: "digits", stage: "production" }],
          },
        },
        stopJob: { job: { status: "STOPPING", notes: ["about Job:ada/mnist/2"] } },
      },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/jobs/2/",
      "PATCH ada/mnist/experiments/42/",
      "POST ada/mnist/jobs/2/stop",
    ]);
  });

  test("renamed jobs coexist with the jobs of another subgraph", async () => {
    const { ask } = await startGraph(startRouter, {
      env: { TYPE_NAMES: "Job=TrainingJob" },
      pinned: ["Job:ada/mnist/1"],
      others: [await startJobBoard()],
    });
    const answer = await ask(`{
      job(id: "7") { __typename title }
      trainingJob(id: "ada.mnist.jobs.1") { __typename id notes }
      pinnedRuns { __typename status ... on TrainingJob { buildJob { uniqueName } } }
    }`);
    expect(answer).toEqual({
      data: {
        job: { __typename: "Job", title: "Place 7" },
        trainingJob: {
          __typename: "TrainingJob",
          id: globalId("Job:ada/mnist/1"),
          notes: ["about Job:ada/mnist/1"],
        },
        pinnedRuns: [
          { __typename: "TrainingJob", status: "SUCCEEDED", buildJob: { uniqueName: "ada.mnist.builds.1" } },
        ],
      },
    });
  });
}
