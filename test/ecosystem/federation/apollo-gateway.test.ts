import { onTestFinished, vi } from "vitest";
import { importSnippet } from "../recipes/snippet.ts";
import type { StartRouter } from "./graph.ts";
import { routerTests } from "./scenarios.ts";

// By default, Apollo Gateway detects the cloud in which it runs, and sends metrics of the machine to its vendor.
vi.stubEnv("APOLLO_TELEMETRY_DISABLED", "true");

/** The function that the recipe on the page exports. */
interface Recipe {
  readonly startApolloGateway: (
    supergraph: string,
    port: number,
  ) => Promise<{ readonly url: string; readonly stop: () => Promise<void> }>;
}

const startRouter: StartRouter = async (supergraph) => {
  // Safe: the page defines the exports of its files.
  const recipe = (await importSnippet("docs/recipes/federation.md", "apollo-gateway.ts")) as Recipe;
  const { url, stop } = await recipe.startApolloGateway(supergraph, 0);
  onTestFinished(stop);
  return url;
};

routerTests(startRouter);
