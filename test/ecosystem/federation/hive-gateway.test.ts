import { createGatewayRuntime } from "@graphql-hive/gateway";
import { describe, expect, onTestFinished, test } from "vitest";
import { isFull } from "../../support/cases.ts";
import { listen } from "../../support/listen.ts";
import { importSnippet } from "../recipes/snippet.ts";
import { startGraph, type StartRouter } from "./graph.ts";
import { codesOf, routerTests } from "./scenarios.ts";
import { NOTES } from "./subgraphs.ts";

/** The function that the recipe on the page exports. */
interface Recipe {
  readonly startHiveGateway: (
    supergraph: string,
    port: number,
  ) => Promise<{ readonly url: string; readonly stop: () => Promise<void> }>;
}

const startRouter: StartRouter = async (supergraph) => {
  // Safe: the page defines the exports of its files.
  const recipe = (await importSnippet("docs/recipes/federation.md", "hive-gateway.ts")) as Recipe;
  const { url, stop } = await recipe.startHiveGateway(supergraph, 0);
  onTestFinished(stop);
  return url;
};

/** Hive Gateway with its default engine, unless another one is given. */
const startDefault: StartRouter = async (supergraph) => {
  const gateway = createGatewayRuntime({
    supergraph,
    logging: false,
    propagateHeaders: {
      fromClientToSubgraphs: ({ request }) => ({ authorization: request.headers.get("authorization") }),
    },
  });
  onTestFinished(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  return `${await listen((request, response) => void gateway(request, response))}/graphql`;
};

/** One run that exists, and one that has been deleted. */
const PINNED = ["Job:ada/mnist/1", "Job:ada/mnist/999"];
const NOT_NULLABLE = NOTES.replace("[Run]", "[Run!]");

// Bugs that docs/federation.md lists. When one is fixed, its test fails and can be removed with its row there.
describe("with Hive Router's planner", () => {
  // Without FULL, these tests run only with another router.
  if (isFull) routerTests(startRouter);

  test("fragments on run types fail if another subgraph sorts before the gateway", async () => {
    const query = "{ pinnedRuns { status ... on Job { buildJob { uniqueName } } } }";
    const pinned = PINNED.slice(0, 1);
    const before = await startGraph(startRouter, { pinned, name: "rungraph" });
    expect(Object.values(codesOf(await before.ask(query)))).toEqual(["INTERNAL_SERVER_ERROR"]);
    const behind = await startGraph(startRouter, { pinned, name: "a-rungraph" });
    expect((await behind.ask(query)).errors).toBeUndefined();
  });

  test("a list of non-null runs contains null for a missing run", async () => {
    const { ask } = await startGraph(startRouter, { pinned: PINNED, sdlOfNotes: NOT_NULLABLE });
    expect((await ask("{ pinnedRuns { status } }")).data).toEqual({
      pinnedRuns: [{ status: "SUCCEEDED" }, null],
    });
  });
});

describe("with Hive Gateway's own planner", () => {
  test("experiments resolve by name, with the caller's token and gateway error codes", async () => {
    const { ask, calls } = await startGraph(startDefault, {
      models: [
        ["digits", "production", "ada.mnist.42"],
        ["lost", "archived", "ada.mnist.9999"],
      ],
    });
    const answer = await ask(`{
      viewer { username }
      models { name trainedBy { status models { name } buildJob { status } } }
    }`);
    expect(answer.data).toEqual({
      viewer: { username: "ada" },
      models: [
        {
          name: "digits",
          trainedBy: { status: "SUCCEEDED", models: [{ name: "digits" }], buildJob: { status: "SUCCEEDED" } },
        },
        { name: "lost", trainedBy: null },
      ],
    });
    expect(Object.values(codesOf(answer))).toEqual(["NOT_FOUND"]);
    expect(calls()).toEqual([
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments/42/",
      "GET ada/mnist/experiments/9999/",
      "GET users/",
    ]);
  });

  test("fields that @interfaceObject adds are null on runs of another subgraph", async () => {
    const { ask } = await startGraph(startDefault, { pinned: ["Experiment:ada/mnist/42"] });
    const answer = await ask(
      `{ pinnedRuns { status notes } experiment(id: "ada.mnist.42") { status notes } }`,
    );
    expect(answer).toEqual({
      data: {
        pinnedRuns: [{ status: "SUCCEEDED", notes: ["about Experiment:ada/mnist/42"] }],
        experiment: { status: "SUCCEEDED", notes: null },
      },
    });
  });

  test("a missing run is null, or nulls a list of non-null runs", async () => {
    const query = "{ pinnedRuns { status } }";
    const nullable = await startGraph(startDefault, { pinned: PINNED });
    expect(await nullable.ask(query)).toEqual({ data: { pinnedRuns: [{ status: "SUCCEEDED" }, null] } });
    const promised = await startGraph(startDefault, { pinned: PINNED, sdlOfNotes: NOT_NULLABLE });
    const answer = await promised.ask(query);
    expect(answer.data).toEqual({ pinnedRuns: null });
    expect(Object.values(codesOf(answer))).toEqual(["INTERNAL_SERVER_ERROR"]);
  });
});
