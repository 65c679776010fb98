import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import pino from "pino";
import { readConfig } from "../../src/config.ts";
import { createGateway } from "../../src/gateway.ts";

/** What the process was like since it was last asked. */
export interface Condition {
  /** Longest time without a turn of the event loop, in milliseconds. */
  readonly blockedMs: number;
  /** Time that all cores spent on the process, in milliseconds. */
  readonly cpuMs: number;
  /** Heap in use after a collection, in bytes. */
  readonly heapBytes: number;
}

/*
 * A gateway as a process of its own, in front of the service at the address that it is given. It tells its parent where
 * it listens, and its condition whenever it is sent a message. Started with --expose-gc.
 */
const gateway = createGateway({
  config: { ...readConfig({ UPSTREAM_PROFILE: "polyaxon-0.4" }), UPSTREAM_RETRIES: 0 },
  upstreamUrl: new URL(process.argv[2] ?? ""),
  log: pino({ level: "silent" }),
});
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let before = process.cpuUsage();
const server = createServer(gateway.handle);
server.listen(0, "127.0.0.1", () => {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.on("message", () => {
  const blockedMs = delay.max / 1e6;
  const { user, system } = process.cpuUsage(before);
  globalThis.gc?.();
  const condition: Condition = {
    blockedMs,
    cpuMs: (user + system) / 1_000,
    heapBytes: process.memoryUsage().heapUsed,
  };
  process.send?.(condition, () => delay.reset());
  before = process.cpuUsage();
});
process.once("disconnect", () => process.exit(0));
