import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import type * as ConfigModule from "../../src/config.ts";
import type * as GatewayModule from "../../src/gateway.ts";

export interface Condition {
  /** CPU time of the longest tick of the event loop since the message `watch`, in milliseconds. */
  readonly blockedMs: number;
  /** Heap and buffers in use after a collection, in bytes. */
  readonly heapBytes: number;
}

/*
 * A gateway as a separate process. Its arguments are the folder where it was built and the address of the service. It needs --expose-gc. It
 * sends its address to the parent process, starts to measure its event loop at the message `watch`, and reports its condition at any other
 * message.
 */
const [, , built = "", upstreamUrl = ""] = process.argv;
// Safe: the built modules have the types of the imported source modules.
const { readConfig } = (await import(`${built}/dist/src/config.js`)) as typeof ConfigModule;
const { createGateway } = (await import(`${built}/dist/src/gateway.js`)) as typeof GatewayModule;
const gateway = createGateway({
  config: { ...readConfig({ UPSTREAM_PROFILE: "polyaxon-0.4", ...process.env }), UPSTREAM_RETRIES: 0 },
  upstreamUrl: new URL(upstreamUrl),
  log: pino({ level: "silent" }),
});
const server = createServer(gateway.handle);
server.on("upgrade", gateway.upgrade);
server.listen(0, "127.0.0.1", () => {
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
let isWatched = false;
let longest = 0;

/** Measures the CPU time of each tick, because other processes affect wall-clock time. */
function watch(): void {
  let before = process.cpuUsage();
  const tick = () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    longest = Math.max(longest, user + system);
    if (isWatched) setImmediate(tick);
  };
  longest = 0;
  isWatched = true;
  setImmediate(tick);
}

process.on("message", (asked) => {
  if (asked === "watch") return watch();
  isWatched = false;
  const blockedMs = longest / 1_000;
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const condition: Condition = { blockedMs, heapBytes: heapUsed + arrayBuffers };
  process.send?.(condition);
});
process.once("disconnect", () => process.exit(0));
