import { LRUCache } from "lru-cache";
import type { Batch } from "../api/batches.ts";

/** How long a rejection is remembered, in milliseconds: servers are updated. */
const REMEMBERED_MS = 600_000;
const MAX_REMEMBERED = 1_000;

/**
 * Remembers the batches whose lists the server rejects. Kept per caller, because the cause may be the input or the
 * rights of one caller.
 */
export interface RefusedBatches {
  readonly has: (callerKey: string, batch: Batch) => boolean;
  readonly add: (callerKey: string, batch: Batch) => void;
}

export function createRefusedBatches(onRefused: (route: string) => void): RefusedBatches {
  const refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  return {
    has: (callerKey, batch) => refused.has(keyOf(callerKey, batch)),
    add: (callerKey, batch) => {
      refused.set(keyOf(callerKey, batch), true);
      onRefused(batch.endpoint.path);
    },
  };
}

const keyOf = (callerKey: string, { endpoint }: Batch) => `${callerKey} ${endpoint.path}`;
