import { vi } from "vitest";

import type { Gateway } from "./gateway.ts";
import { metricOf } from "./metrics.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";

/** Number of reads that were answered without a request of their own. */
export const sharedReads = async (gateway: Gateway, from: "in flight" | "kept"): Promise<number> =>
  (await metricOf(gateway, `rungraph_shared_reads_total{from="${from}"}`)) || 0;

/** Waits until `count` reads have shared, or are sharing, the request of another operation. */
export const joined = (gateway: Gateway, count: number) =>
  vi.waitUntil(async () => (await sharedReads(gateway, "in flight")) === count, LONG_TIMEOUT);
