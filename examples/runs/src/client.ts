import { Client, type CombinedError, fetchExchange, mapExchange } from "urql";
import { cache } from "./cache.ts";
import { codesOf } from "./errors.tsx";

/** A client for one session: with its token goes the cache of what the token let it read. */
export function connect(token: string | undefined, onEnd: () => void): Client {
  const onError = (error: CombinedError) => {
    if (codesOf(error).includes("UNAUTHENTICATED")) onEnd();
  };
  return new Client({
    url: "/graphql",
    preferGetMethod: false, // no queries in the access logs of proxies
    fetchSubscriptions: true, // as server-sent events: the same address, headers and proxies as queries
    fetchOptions: { headers: token ? { authorization: `token ${token}` } : {} },
    exchanges: [mapExchange({ onError }), cache(), fetchExchange],
  });
}
