import { onTestFinished, vi } from "vitest";
import { importSnippet } from "../recipes/snippet.ts";
import type { StartRouter } from "./graph.ts";
import { tellStories } from "./scenarios.ts";

// Unless told, it looks for the cloud that it runs in and sends figures of the machine to its maker.
vi.stubEnv("APOLLO_TELEMETRY_DISABLED", "true");

/** The function of the page. */
interface Recipe {
  readonly startApolloGateway: (
    supergraph: string,
    port: number,
  ) => Promise<{ readonly url: string; readonly stop: () => Promise<void> }>;
}

const startRouter: StartRouter = async (supergraph) => {
  // The page says what its files export.
  const recipe = (await importSnippet("docs/federation.md", "apollo-gateway.ts")) as Recipe;
  const { url, stop } = await recipe.startApolloGateway(supergraph, 0);
  onTestFinished(stop);
  return url;
};

tellStories(startRouter);
