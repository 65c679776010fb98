import { ApolloGateway, RemoteGraphQLDataSource } from "@apollo/gateway";
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";

interface Context {
  readonly forwarded?: Readonly<Record<string, string>>;
}

const FORWARDED = ["authorization", "x-request-id", "traceparent"];

export async function startApolloGateway(supergraphSdl: string, port: number) {
  const gateway = new ApolloGateway({
    supergraphSdl,
    buildService: ({ url = "" }) =>
      new RemoteGraphQLDataSource<Context>({
        url,
        willSendRequest: ({ request, context }) => {
          const forwarded: Readonly<Record<string, string>> = context.forwarded ?? {};
          for (const [name, value] of Object.entries(forwarded)) request.http?.headers.set(name, value);
        },
      }),
  });
  const server = new ApolloServer<Context>({ gateway });
  const { url } = await startStandaloneServer(server, {
    listen: { host: "127.0.0.1", port },
    context: async ({ req }) => {
      const names = FORWARDED.filter((name) => typeof req.headers[name] === "string");
      return { forwarded: Object.fromEntries(names.map((name) => [name, String(req.headers[name])])) };
    },
  });
  return { url, stop: () => server.stop() };
}
