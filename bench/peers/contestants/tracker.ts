import type { ApolloServer } from "@apollo/server";
import { type AugmentedRequest, RESTDataSource } from "@apollo/datasource-rest";
import type { Context } from "./schema.ts";
import { SERVICE_URL } from "./service.ts";

type Cache = ApolloServer["cache"];
type Fetch = (url: string, options: object) => Promise<unknown>;

class Tracker extends RESTDataSource {
  override baseURL = SERVICE_URL;
  readonly #authorization: string;

  constructor(authorization: string, cache: Cache, fetch: Fetch) {
    // undici's request types differ from those of the data source.
    super({ cache, fetch: fetch as never });
    this.#authorization = authorization;
  }

  override willSendRequest(_path: string, { headers }: AugmentedRequest): void {
    headers["authorization"] = this.#authorization;
  }

  load(path: string): Promise<unknown> {
    return this.get(path);
  }
}

/** Creates one data source per request. */
export const trackers =
  (cache: Cache, fetch: Fetch) =>
  (authorization = ""): Context => {
    const tracker = new Tracker(authorization, cache, fetch);
    return { load: (path) => tracker.load(path) };
  };
