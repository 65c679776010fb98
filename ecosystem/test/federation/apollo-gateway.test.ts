import { ApolloGateway, RemoteGraphQLDataSource } from "@apollo/gateway";
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { onTestFinished, vi } from "vitest";
import { FORWARDED, type StartRouter } from "./graph.ts";
import { tellStories } from "./stories.ts";

// Unless told, it looks for the cloud that it runs in and sends figures of the machine to its maker.
vi.stubEnv("APOLLO_TELEMETRY_DISABLED", "true");

interface Context {
  readonly forwarded?: ReadonlyMap<string, string>;
}

const startRouter: StartRouter = async (supergraph) => {
  const gateway = new ApolloGateway({
    supergraphSdl: supergraph,
    buildService: ({ url = "" }) =>
      new RemoteGraphQLDataSource<Context>({
        url,
        willSendRequest: ({ request, context: { forwarded = [] } }) => {
          for (const [name, value] of forwarded) request.http?.headers.set(name, value);
        },
      }),
  });
  const server = new ApolloServer<Context>({ gateway });
  const { url } = await startStandaloneServer(server, {
    listen: { host: "127.0.0.1", port: 0 },
    context: async ({ req }) => ({
      forwarded: new Map(
        FORWARDED.flatMap((name) => {
          const value = req.headers[name];
          return typeof value === "string" ? [[name, value] as const] : [];
        }),
      ),
    }),
  });
  onTestFinished(() => server.stop());
  return url;
};

tellStories(startRouter);
