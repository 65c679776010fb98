import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type BalancerName, isInstalled, runBalancer } from "../test/support/run-balancer.ts";
import { startGateway, stopGateway } from "./processes.ts";
import { conditions, writeResults } from "./results.ts";
import { row, say } from "./sheet.ts";

/*
 * Measures how many upstream requests four replicas send per minute for sixteen subscribers of one token, by balancing method. Four
 * subscribers watch each of four runs. The runs change every second.
 */

const REPLICAS = 4;
const SUBSCRIBERS = 16;
const RUNS = 4;
const SECONDS = Number(process.env["REPLICAS_SECONDS"] ?? 60);
const TOKEN = "token solo";
const QUERY = "subscription ($id: ID!) { runUpdated(id: $id) { run { uniqueName status updatedAt } } }";

/** Starts a service that counts its requests. */
async function startCounting() {
  let requests = 0;
  const server = createServer((incoming, response) => {
    requests++;
    const updated_at = new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString();
    const record = (id: number) => ({
      id,
      unique_name: `ada.mnist.${id}`,
      last_status: "running",
      updated_at,
    });
    const path = decodeURIComponent(incoming.url ?? "");
    const id = Number(/experiments\/(\d+)\//.exec(path)?.[1]);
    const results = (/id:([\d|]+)/.exec(path)?.[1]?.split("|") ?? []).map((each) => record(Number(each)));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(id ? record(id) : { count: results.length, next: null, results }));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, token: "", requests: () => requests, stop: () => server.close() };
}

/** Subscribes to a run and calls `onEvent` for each event. Returns a function that ends the subscription. */
type Watch = (url: string, id: string, onEvent: () => void) => () => void;

const byEventStream: Watch = (url, id, onEvent) => {
  const sent = request(`${url}/graphql`, {
    method: "POST",
    agent: false,
    headers: { accept: "text/event-stream", "content-type": "application/json", authorization: TOKEN },
  });
  sent.on("response", (response) => {
    response.on("data", (chunk: Buffer) => {
      if (chunk.includes("event: next")) onEvent();
    });
  });
  sent.on("error", () => {});
  sent.end(JSON.stringify({ query: QUERY, variables: { id } }));
  return () => sent.destroy();
};

const byWebSocket: Watch = (url, id, onEvent) => {
  const client = createClient({
    url: `${url.replace("http:", "ws:")}/graphql`,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { authorization: TOKEN } });
      }
    },
  });
  client.subscribe(
    { query: QUERY, variables: { id } },
    { next: onEvent, error: () => {}, complete: () => {} },
  );
  return () => void client.dispose();
};

/** Returns the upstream requests per minute. Throws unless every subscriber gets an event. */
async function measure(
  balancer: BalancerName,
  watch: Watch,
  change?: (file: string) => string,
): Promise<number> {
  const service = await startCounting();
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startGateway(service, {})));
  const { url, check, stop } = await runBalancer(
    balancer,
    replicas.map((each) => Number(new URL(each.url).port)),
    change,
  );
  while (
    !(await check().then(
      () => true,
      () => false,
    ))
  )
    await sleep(50);
  const before = service.requests();
  const events = Array.from({ length: SUBSCRIBERS }, () => 0);
  const leave = events.map((_, at) => {
    const id = Buffer.from(`Experiment:ada/mnist/${(at % RUNS) + 1}`).toString("base64url");
    return watch(url, id, () => void (events[at] = (events[at] ?? 0) + 1));
  });
  await sleep(SECONDS * 1_000);
  const requests = service.requests() - before;
  for (const end of leave) end();
  await stop();
  await Promise.all(replicas.map(stopGateway));
  service.stop();
  if (events.includes(0))
    throw new Error(`${balancer}: expected events for every subscriber, got ${events.join(", ")}`);
  return Math.round((requests * 60) / SECONDS);
}

const roundRobin = (file: string) => file.replace(/^ *hash .*\n/m, "");

const WAYS: readonly [string, BalancerName, ((file: string) => string)?][] = [
  ["by the token: `deploy/nginx.conf`", "nginx"],
  ["by the token: `deploy/haproxy.cfg`", "haproxy"],
  ["round robin: `nginx.conf` without `hash`", "nginx", roundRobin],
];

const rows = [
  row("The balancer chooses the replica", "Event streams", "WebSockets"),
  row("---", "---:", "---:"),
];
for (const [title, balancer, change] of WAYS) {
  if (!isInstalled(balancer)) throw new Error(`expected ${balancer} to be installed`);
  const [streams, sockets] = await Promise.all([
    measure(balancer, byEventStream, change),
    measure(balancer, byWebSocket, change),
  ]);
  rows.push(row(title, streams, sockets));
  say(rows.at(-1) ?? "");
}
writeResults("replicas", `${conditions()}\n\n${rows.join("\n")}`);
