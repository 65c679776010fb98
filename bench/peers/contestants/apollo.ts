import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { type AugmentedRequest, RESTDataSource } from "@apollo/datasource-rest";
import { Agent, fetch } from "undici";
import { type Context, schema } from "./schema.ts";
import { LISTEN, SERVICE_URL } from "./service.ts";

const dispatcher = new Agent({ connections: 64 });

class Tracker extends RESTDataSource {
  override baseURL = SERVICE_URL;
  readonly #authorization: string;

  constructor(authorization: string) {
    super({
      cache: server.cache,
      // Undici's own types of a request differ from those that the data source is written with.
      fetch: ((url: string, options: object) => fetch(url, { ...options, dispatcher })) as never,
    });
    this.#authorization = authorization;
  }

  override willSendRequest(_path: string, { headers }: AugmentedRequest): void {
    headers["authorization"] = this.#authorization;
  }

  load(path: string): Promise<unknown> {
    return this.get(path);
  }
}

const server: ApolloServer<Context> = new ApolloServer<Context>({
  schema,
  introspection: false,
  persistedQueries: false,
});
await startStandaloneServer(server, {
  listen: LISTEN,
  context: async ({ req }) => {
    const tracker = new Tracker(req.headers.authorization ?? "");
    return { load: (path) => tracker.load(path) };
  },
});
