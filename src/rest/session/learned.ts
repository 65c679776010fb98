import { LRUCache } from "lru-cache";
import type { Batch } from "../api/batches.ts";

/** How long a refusal is remembered, in milliseconds: servers are updated. */
const REMEMBERED_MS = 600_000;
const MAX_REMEMBERED = 1_000;

/**
 * Which batches the server refused whom. Kept for each party: what one caller's input or rights bring about changes
 * nothing for the others.
 */
export interface LearnedRefusals {
  readonly has: (party: string, batch: Batch) => boolean;
  readonly learn: (party: string, batch: Batch) => void;
}

export function createLearnedRefusals(onLearned: (route: string) => void): LearnedRefusals {
  const refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  return {
    has: (party, batch) => refused.has(keyOf(party, batch)),
    learn: (party, batch) => {
      refused.set(keyOf(party, batch), true);
      onLearned(batch.endpoint.path);
    },
  };
}

const keyOf = (party: string, { endpoint }: Batch) => `${party} ${endpoint.path}`;
