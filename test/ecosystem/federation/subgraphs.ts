import { ApolloServer } from "@apollo/server";
import { ApolloServerPluginInlineTraceDisabled } from "@apollo/server/plugin/disabled";
import { startStandaloneServer } from "@apollo/server/standalone";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";
import { onTestFinished } from "vitest";
import { startDemoGateway } from "../../support/demo-gateway.ts";
import { globalId } from "../../support/ids.ts";

/** A subgraph as routers are told of it. */
export interface Subgraph {
  readonly name: string;
  readonly url: string;
  readonly sdl: string;
}

export const FEDERATION = `extend schema @link(
  url: "https://specs.apollo.dev/federation/v2.3"
  import: ["@key", "@interfaceObject"]
)`;

/** Knows models, and of each the dotted name of the experiment that it came from. */
export const MODEL_REGISTRY = `${FEDERATION}
type Query { models: [Model!] }
type Model @key(fields: "name") { name: ID! stage: String trainedBy: Experiment }
type Experiment @key(fields: "uniqueName") { uniqueName: String! models: [Model!] }`;

/** Knows notes on runs of any kind, by their global ids. */
export const NOTES = `${FEDERATION}
type Query { pinnedRuns: [Run] }
type Run @key(fields: "id") @interfaceObject { id: ID! notes: [String!] }`;

/** Has reviews of runs of any kind, by their references. */
export const REVIEWS = `${FEDERATION}
type Query { reviewedRuns: [Run] }
type Run @key(fields: "reference") @interfaceObject { reference: String! review: String }`;

/** Has Relay's interface of global ids, and another type behind it. */
export const DATASETS = `${FEDERATION}
interface Node { id: ID! }
type Query { dataset(id: ID!): Dataset }
type Dataset implements Node @key(fields: "id") { id: ID! rows: Int }`;

/** Has jobs of its own: places that are to be filled. */
export const JOB_BOARD = `${FEDERATION}
type Query { job(id: ID!): Job }
type Job @key(fields: "id") { id: ID! title: String }`;

export type ModelRow = readonly [name: string, stage: string, experiment: string];

export function startModelRegistry(rows: readonly ModelRow[]) {
  const models = rows.map(([name, stage, uniqueName]) => ({ name, stage, trainedBy: { uniqueName } }));
  return startSubgraph("model-registry", MODEL_REGISTRY, {
    Query: { models: () => models },
    Experiment: {
      models: ({ uniqueName }: { uniqueName: string }) =>
        models.filter(({ trainedBy }) => trainedBy.uniqueName === uniqueName),
    },
  });
}

/** Pins the runs of these addresses, such as `Job:ada/mnist/1`. The note of every run is its address. */
export const startNotes = (pinned: readonly string[], sdl = NOTES) =>
  startSubgraph("notes", sdl, {
    Query: { pinnedRuns: () => pinned.map((address) => ({ id: globalId(address) })) },
    Run: { notes: ({ id }: { id: string }) => [`about ${Buffer.from(id, "base64url").toString()}`] },
  });

export const startReviews = (references: readonly string[]) =>
  startSubgraph("reviews", REVIEWS, {
    Query: { reviewedRuns: () => references.map((reference) => ({ reference })) },
    Run: { review: ({ reference }: { reference: string }) => `of ${reference}` },
  });

export const startJobBoard = () =>
  startSubgraph("job-board", JOB_BOARD, {
    Query: { job: (_: unknown, { id }: { id: string }) => ({ id, title: `Place ${id}` }) },
  });

interface Resolvers {
  readonly [type: string]: { readonly [field: string]: (source: never, args: never) => unknown };
}

/** A subgraph on a free port, with an end that a test can bring about before its own. */
async function startSubgraph(name: string, sdl: string, resolvers: Resolvers) {
  // The types that stand in the text are not known to the compiler.
  const schema = buildSubgraphSchema({ typeDefs: parse(sdl), resolvers: resolvers as never });
  const server = new ApolloServer({ schema, plugins: [ApolloServerPluginInlineTraceDisabled()] });
  const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: 0 } });
  onTestFinished(() => server.stop());
  return { name, url, sdl, stop: () => server.stop() };
}

/** Our gateway as a subgraph, with the SDL that it tells anybody. Its name sorts first, as docs/federation.md advises. */
export async function startRungraph(env: Record<string, string> = {}, name = "a-rungraph") {
  const gateway = await startDemoGateway({ env });
  const { data } = await gateway.ask<{ _service: { sdl: string } }, object>(
    "{ _service { sdl } }",
    {},
    { token: null },
  );
  return { ...gateway, name, url: `${gateway.url}/graphql`, sdl: data._service.sdl };
}
