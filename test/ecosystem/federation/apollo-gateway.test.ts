import { onTestFinished, vi } from "vitest";
import { importSnippet } from "../recipes/snippet.ts";
import type { StartRouter } from "./graph.ts";
import { routerTests } from "./scenarios.ts";

// By default, it detects the cloud it runs in and sends metrics of the machine to its vendor.
vi.stubEnv("APOLLO_TELEMETRY_DISABLED", "true");

/** The function of the page. */
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
