import Fastify from "fastify";
import mercurius from "mercurius";
import { contextOf } from "./loader.ts";
import { schema } from "./schema.ts";
import { LISTEN } from "./service.ts";

const app = Fastify({ logger: false });
await app.register(mercurius, {
  schema,
  jit: 1,
  graphiql: false,
  path: "/graphql",
  context: ({ headers }) => contextOf(headers.authorization),
});
await app.listen(LISTEN);
