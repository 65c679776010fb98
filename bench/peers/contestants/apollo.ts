import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { Agent, fetch } from "undici";
import { type Context, schema } from "./schema.ts";
import { LISTEN } from "./service.ts";
import { trackers } from "./tracker.ts";

const dispatcher = new Agent({ connections: 64 });

const server = new ApolloServer<Context>({ schema, introspection: false, persistedQueries: false });
const contextOf = trackers(server.cache, (url, options) => fetch(url, { ...options, dispatcher }));
await startStandaloneServer(server, {
  listen: LISTEN,
  context: async ({ req }) => contextOf(req.headers.authorization),
});
