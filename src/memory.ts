import { LRUCache } from "lru-cache";

/** Maximum callers that a memory holds; the least recently used are dropped. Each takes some 200 bytes. */
const MAX_REMEMBERED = 20_000;

/** How long facts are kept by default, in milliseconds: servers are updated, and tokens withdrawn. */
const TEN_MINUTES = 600_000;

/** A bounded memory of facts about callers, by their keys, which outlasts their requests. */
export class Memory<Fact extends {}> extends LRUCache<string, Fact> {
  constructor(keptMs = TEN_MINUTES) {
    // A `max` would take the memory for all of them at once.
    super({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1, ttl: keptMs, ttlResolution: 1_000 });
  }
}
