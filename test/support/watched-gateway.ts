import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import pino from "pino";
import type * as ConfigModule from "../../src/config.ts";
import type * as GatewayModule from "../../src/gateway.ts";

/** What the process was like since it was last asked. */
export interface Condition {
  /** Longest time without a turn of the event loop, in milliseconds. */
  readonly blockedMs: number;
  /** Heap in use after a collection, in bytes. */
  readonly heapBytes: number;
}

/*
 * A gateway as a process of its own. It is given the folder where it was built, and the address of the service. It tells its
 * parent where it listens, and its condition whenever it is sent a message. Started with --expose-gc.
 */
const [, , built = "", upstreamUrl = ""] = process.argv;
// Safe: these are built from those.
const { readConfig } = (await import(`${built}/dist/src/config.js`)) as typeof ConfigModule;
const { createGateway } = (await import(`${built}/dist/src/gateway.js`)) as typeof GatewayModule;
const gateway = createGateway({
  config: { ...readConfig({ UPSTREAM_PROFILE: "polyaxon-0.4", ...process.env }), UPSTREAM_RETRIES: 0 },
  upstreamUrl: new URL(upstreamUrl),
  log: pino({ level: "silent" }),
});
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const server = createServer(gateway.handle);
server.on("upgrade", gateway.upgrade);
server.listen(0, "127.0.0.1", () => {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.on("message", () => {
  const blockedMs = delay.max / 1e6;
  globalThis.gc?.();
  const condition: Condition = { blockedMs, heapBytes: process.memoryUsage().heapUsed };
  process.send?.(condition, () => delay.reset());
});
process.once("disconnect", () => process.exit(0));
