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
    // Undici's own types of a request differ from those that the data source is written with.
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

/** A data source for each request. */
export const trackers =
  (cache: Cache, fetch: Fetch) =>
  (authorization = ""): Context => {
    const tracker = new Tracker(authorization, cache, fetch);
    return { load: (path) => tracker.load(path) };
  };
