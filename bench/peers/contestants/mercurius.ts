import mercurius from "mercurius";
import { contextOf } from "./loader.ts";
import { schema } from "./schema.ts";
import { IS_OPERATED, LISTEN } from "./service.ts";

const { app, get, ...limits } = IS_OPERATED ? await import("./operated.ts") : await import("./bare.ts");
await app.register(mercurius, {
  schema,
  jit: 1,
  graphiql: false,
  path: "/graphql",
  ...("MAX_DEPTH" in limits && { queryDepth: limits.MAX_DEPTH }),
  context: ({ headers }) => contextOf(headers.authorization, get),
});
await app.listen(LISTEN);
