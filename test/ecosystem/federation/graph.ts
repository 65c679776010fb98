import { callsOf, tokenOf } from "../../support/demo-gateway.ts";
import type { Answer } from "../../support/gateway.ts";
import { toSupergraph } from "./composers.ts";
import { type ModelRow, startModelRegistry, startNotes, startRungraph, type Subgraph } from "./subgraphs.ts";

/** Starts a router for a supergraph, until the test ends. Returns its address. */
export type StartRouter = (supergraph: string) => Promise<string>;

interface GraphOptions {
  readonly models?: readonly ModelRow[];
  /** Addresses of the runs that the notes pin, such as `Job:ada/mnist/1`. */
  readonly pinned?: readonly string[];
  /** Settings of our gateway, by their variables. */
  readonly env?: Record<string, string>;
  /** Subgraphs in addition to the gateway, the model registry and the notes. */
  readonly others?: readonly Subgraph[];
  /** Name of this gateway in the supergraph. */
  readonly name?: string;
  /** The schema of the notes. */
  readonly sdlOfNotes?: string;
}

/** Starts a router in front of our gateway and the subgraphs of the test. `ask` is signed in as ada by default. */
export async function startGraph(startRouter: StartRouter, options: GraphOptions = {}) {
  const { models = [], pinned = [], env = {}, others = [], name, sdlOfNotes } = options;
  const rungraph = await startRungraph(env, name);
  const registry = await startModelRegistry(models);
  const notes = await startNotes(pinned, sdlOfNotes);
  const url = await startRouter(toSupergraph([rungraph, registry, notes, ...others]));
  return {
    ask: async (
      query: string,
      sending: { readonly user?: string | null; readonly requestId?: string } = {},
    ) => {
      const { user = "ada", requestId } = sending;
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(user === null ? {} : { authorization: `token ${tokenOf(rungraph.demo, user)}` }),
          ...(requestId === undefined ? {} : { "x-request-id": requestId }),
        },
        body: JSON.stringify({ query }),
      });
      return (await response.json()) as Answer<unknown>;
    },
    /** Requests that reached the service since the previous call. */
    calls: () => callsOf(rungraph.demo),
    registry,
  };
}
