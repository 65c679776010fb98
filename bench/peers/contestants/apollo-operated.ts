import { ApolloServer } from "@apollo/server";
import fastifyApollo, { fastifyApolloDrainPlugin } from "@as-integrations/fastify";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import { fetch } from "undici";
import { app, connections, MAX_DEPTH, observe } from "./operated.ts";
import { type Context, schema } from "./schema.ts";
import { LISTEN } from "./service.ts";
import { trackers } from "./tracker.ts";

const server = new ApolloServer<Context>({
  schema,
  introspection: false,
  persistedQueries: false,
  validationRules: [maxDepthRule({ n: MAX_DEPTH })],
  plugins: [fastifyApolloDrainPlugin(app)],
});
const contextOf = trackers(server.cache, (url, options) =>
  observe(() => fetch(url, { ...options, dispatcher: connections })),
);
await server.start();
await app.register(fastifyApollo(server), {
  path: "/graphql",
  context: async ({ headers }) => contextOf(headers.authorization),
});
await app.listen(LISTEN);
