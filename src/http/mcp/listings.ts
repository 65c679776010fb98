import type { IncomingHttpHeaders } from "node:http";
import { LRUCache } from "lru-cache";
import { protocolHeaders } from "./server.ts";

/** Methods whose results are the same for all callers, as tools and resources never change. */
const LISTS = new Set<unknown>(["tools/list", "resources/list"]);

/** Stands for the id of a message in its answer. */
const ID = "id of the message, for which this text stands";

/** Longest message that asks for a list whose answer is kept, in bytes, and most of them. */
export const MAX_LISTING_BYTES = 2_000;
const MAX_KEPT = 16;

interface Kept {
  readonly headers: Headers;
  /** The text before the id and behind it. */
  readonly parts: readonly string[];
}

/**
 * Keeps the lists of tools and resources as text: the SDK takes 5 ms for each. The function answers a message that asks for
 * one; null when it does not, or when the SDK has another answer.
 */
export function createListings() {
  const kept = new LRUCache<string, Kept>({ max: MAX_KEPT });
  return async (
    message: object,
    headers: IncomingHttpHeaders,
    ask: (message: object) => Promise<Response>,
  ): Promise<Response | null> => {
    const { id, ...asked }: { readonly id?: unknown; readonly method?: unknown } = message;
    if (!LISTS.has(asked.method) || (typeof id !== "string" && !Number.isSafeInteger(id))) return null;
    const key = JSON.stringify([asked, protocolHeaders(headers)]);
    let found = kept.get(key);
    if (!found) {
      const answer = await ask({ ...asked, id: ID });
      const parts = (await answer.text()).split(JSON.stringify(ID));
      if (!answer.ok || parts.length !== 2) return null;
      found = { headers: answer.headers, parts };
      kept.set(key, found);
    }
    return new Response(found.parts.join(JSON.stringify(id)), { headers: found.headers });
  };
}
