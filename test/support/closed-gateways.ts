import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import type * as Module from "../../src/index.ts";
import { fileWith } from "./build.ts";

/** The resources of a process. */
export interface ResourceCounts {
  /** Number of listeners of `process`, by event. */
  readonly listeners: Readonly<Record<string, number>>;
  /** Number of timers and handles, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/*
 * A process that creates gateways one after the other. It reads the metrics of each, runs an operation, and closes it. It prints its own
 * resources after the first and after the last gateway. Its arguments are the built module and the number of gateways. It needs
 * --expose-gc.
 */
const FLEETING = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"]);
const resources = new Map<number, string>();
createHook({
  init: (id, type) => void (FLEETING.has(type) || resources.set(id, type)),
  destroy: (id) => void resources.delete(id),
}).enable();

// Safe: the first argument is the built module.
const { createGateway } = (await import(process.argv[2] ?? "")) as typeof Module;
const file = fileWith("{}", "headers");

async function makeAndClose(): Promise<void> {
  const gateway = await createGateway({ LOG_LEVEL: "error", UPSTREAM_HEADERS_FILE: file });
  const server = createServer(gateway.handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  for (const path of ["/metrics", "/graphql?query={viewer{username}}"]) {
    const sent = request({ port, path, agent: false, headers: { authorization: "token t0ken" } }).end();
    const [response] = await once(sent, "response");
    await text(response);
  }
  server.close();
  await gateway.close();
}

function resourceCounts(): ResourceCounts {
  const counts: Record<string, number> = {};
  for (const kind of resources.values()) counts[kind] = (counts[kind] ?? 0) + 1;
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  return { listeners: Object.fromEntries(listeners), resources: counts };
}

/** How long to wait for resources to be freed. Timers of connections end after some seconds. */
const TIMEOUT_MS = 30_000;

/** Collects garbage until there are no more resources than before. */
async function settle(before: ResourceCounts | undefined): Promise<void> {
  const end = Date.now() + TIMEOUT_MS;
  for (let round = 0; before ? hasGrown(before) && Date.now() < end : round < 1_000; round += 1) {
    if (round % 100 === 0) globalThis.gc?.();
    await setImmediate();
  }
}

const hasGrown = (before: ResourceCounts): boolean =>
  Object.entries(resourceCounts().resources).some(([kind, count]) => count > (before.resources[kind] ?? 0));

const reported: ResourceCounts[] = [];
for (const count of [1, Number(process.argv[3])]) {
  for (let made = 0; made < count; made += 1) await makeAndClose();
  await settle(reported[0]);
  reported.push(resourceCounts());
}
process.stdout.write(`${JSON.stringify(reported)}\n`);
