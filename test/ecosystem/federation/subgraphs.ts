import { ApolloServer } from "@apollo/server";
import { ApolloServerPluginInlineTraceDisabled } from "@apollo/server/plugin/disabled";
import { startStandaloneServer } from "@apollo/server/standalone";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";
import { onTestFinished } from "vitest";
import { startDemoGateway } from "../../support/demo-gateway.ts";
import { globalId } from "../../support/ids.ts";

/** A subgraph as routers know it. */
export interface Subgraph {
  readonly name: string;
  readonly url: string;
  readonly sdl: string;
}

export const FEDERATION = `extend schema @link(
  url: "https://specs.apollo.dev/federation/v2.3"
  import: ["@key", "@interfaceObject"]
)`;

/** A registry of models, each with the dotted name of the experiment that produced it. */
export const MODEL_REGISTRY = `${FEDERATION}
type Query { models: [Model!] }
type Model @key(fields: "name") { name: ID! stage: String trainedBy: Experiment }
type Experiment @key(fields: "uniqueName") { uniqueName: String! models: [Model!] }`;

/** Notes on runs of any kind, by their global ids. */
export const NOTES = `${FEDERATION}
type Query { pinnedRuns: [Run] }
type Run @key(fields: "id") @interfaceObject { id: ID! notes: [String!] }`;

/** Reviews of runs of any kind, by their references. */
export const REVIEWS = `${FEDERATION}
type Query { reviewedRuns: [Run] }
type Run @key(fields: "reference") @interfaceObject { reference: String! review: String }`;

/** A subgraph with Relay's interface of global ids, and another type that implements it. */
export const DATASETS = `${FEDERATION}
interface Node { id: ID! }
type Query { dataset(id: ID!): Dataset }
type Dataset implements Node @key(fields: "id") { id: ID! rows: Int }`;

/** A subgraph with its own type `Job`: vacancies. */
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

/** Starts a subgraph on a free port. A test can stop it before the test ends. */
async function startSubgraph(name: string, sdl: string, resolvers: Resolvers) {
  // Safe: the compiler does not know the types in the SDL.
  const schema = buildSubgraphSchema({ typeDefs: parse(sdl), resolvers: resolvers as never });
  const server = new ApolloServer({ schema, plugins: [ApolloServerPluginInlineTraceDisabled()] });
  const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: 0 } });
  onTestFinished(() => server.stop());
  return { name, url, sdl, stop: () => server.stop() };
}

/** Our gateway as a subgraph, with the SDL that it serves. Its name sorts first, as the documentation advises. */
export async function startRungraph(env: Record<string, string> = {}, name = "a-rungraph") {
  const gateway = await startDemoGateway({ env });
  const { data } = await gateway.ask<{ _service: { sdl: string } }, object>(
    "{ _service { sdl } }",
    {},
    { token: null },
  );
  return { ...gateway, name, url: `${gateway.url}/graphql`, sdl: data._service.sdl };
}
