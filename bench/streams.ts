import { type ClientRequest, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { metricsOf, type Running, startGateway, stopGateway } from "./processes.ts";
import { megabytes, row, say } from "./sheet.ts";

/*
 * Measures 1,000 event streams on one process: `npm run bench:streams`. Each of 100 tokens watches ten runs. The runs change every second.
 */

const STREAMS = 1_000;
const TOKENS = 100;
const SECONDS = 30;

/** A service whose runs change every second. */
const service = createServer((incoming, response) => {
  const path = incoming.url ?? "";
  const second = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
  const record = (id: number) => ({
    id,
    unique_name: `ada.mnist.${id}`,
    last_status: "running",
    updated_at: second,
    started_at: second,
    finished_at: null,
  });
  const ids = /id%3A([\d%C|]+)/.exec(path)?.[1]?.split(/%7C|\|/) ?? [];
  const id = Number(/experiments\/(\d+)\//.exec(path)?.[1]);
  response.setHeader("content-type", "application/json");
  const results = ids.map((each) => record(Number(each)));
  response.end(JSON.stringify(id ? record(id) : { count: results.length, next: null, results }));
});
await new Promise<void>((ready) => service.listen(0, "127.0.0.1", ready));
const { port } = service.address() as AddressInfo;

/** Reads the totals of CPU seconds and upstream requests, the memory in bytes and the number of open streams. */
async function measure(gateway: Running) {
  const text = await metricsOf(gateway);
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return {
    cpu: sum("process_cpu_seconds_total"),
    resident: sum("process_resident_memory_bytes"),
    heap: sum("nodejs_heap_size_used_bytes"),
    requests: sum("rungraph_upstream_requests_total"),
    streams: sum("rungraph_subscriptions_running"),
  };
}

let events = 0;

function watch(gateway: Running, token: string, run: number): ClientRequest {
  const id = Buffer.from(`Experiment:ada/mnist/${run}`).toString("base64url");
  const sent = request(`${gateway.url}/graphql`, {
    method: "POST",
    agent: false,
    headers: {
      accept: "text/event-stream",
      "content-type": "application/json",
      authorization: `token ${token}`,
    },
  });
  sent.on("response", (response) => {
    response.on("data", (chunk: Buffer) => {
      if (chunk.includes("event: next")) events++;
    });
  });
  sent.on("error", () => {});
  const query = `subscription ($id: ID!) { runUpdated(id: $id) { run { uniqueName isFinished status updatedAt } } }`;
  sent.end(JSON.stringify({ query, variables: { id } }));
  return sent;
}

async function drive(env: Readonly<Record<string, string>>): Promise<void> {
  const gateway = await startGateway({ url: `http://127.0.0.1:${port}`, token: "", stop: () => {} }, env);
  const before = await measure(gateway);
  const open: ClientRequest[] = [];
  for (let stream = 0; stream < STREAMS; stream++) {
    open.push(watch(gateway, `token${stream % TOKENS}`, Math.floor(stream / TOKENS) + 1));
    if (stream % 50 === 49) await sleep(20);
  }
  await sleep(3_000);
  const start = await measure(gateway);
  const startEvents = events;
  await sleep(SECONDS * 1_000);
  const end = await measure(gateway);
  say(
    row(
      end.streams,
      `${megabytes(before.resident)} → ${megabytes(end.resident)}`,
      `${megabytes(before.heap)} → ${megabytes(end.heap)}`,
      `${((100 * (end.cpu - start.cpu)) / SECONDS).toFixed(0)} %`,
      ((events - startEvents) / SECONDS).toFixed(0),
      ((end.requests - start.requests) / SECONDS).toFixed(0),
    ),
  );
  const stopped = performance.now();
  await stopGateway(gateway);
  say(`drained in ${(performance.now() - stopped).toFixed(0)} ms`);
  for (const sent of open) sent.destroy();
}

say("| Streams | Resident | Heap | CPU | Events/s | Upstream requests/s |");
say("|---|---|---|---|---|---|");
// Measures the default settings, then a budget that lets each token poll every second.
await drive({});
await drive({ LIVE_REQUESTS_PER_MINUTE: "120" });
service.close();
