import { createServer } from "node:http";
import { createYoga } from "graphql-yoga";
import { contextOf } from "./loader.ts";
import { schema } from "./schema.ts";
import { LISTEN } from "./service.ts";

const yoga = createYoga({
  schema,
  logging: false,
  graphiql: false,
  landingPage: false,
  context: ({ request }) => contextOf(request.headers.get("authorization")),
});
createServer(yoga).listen(LISTEN);
