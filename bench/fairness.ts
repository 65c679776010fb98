import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import type { Target } from "./fire.ts";
import { metricsOf, type Running, type Service, startGateway, stopGateway } from "./processes.ts";
import { FILES, round, row, say, seconds, targetOf } from "./sheet.ts";

/*
 * Measures the latency of one token while another token keeps 250 heavy operations in flight: `npm run bench:fairness`. The goal is a p99
 * of less than three times its value alone. The service responds after 5 ms.
 */
const GOAL = 3;
const ALONE_SECONDS = 10;
const BESIDE_SECONDS = 30;
/** Pause between two queries of the light token, in milliseconds. */
const PAUSE_MS = 10;

const forkOf = (file: URL) => fork(file, { execArgv: ["--import", "tsx"] });

async function startService(): Promise<Service> {
  const child = forkOf(new URL("./fairness-service.ts", import.meta.url));
  const [started] = (await once(child, "message")) as [{ url: string; token: string }];
  return { ...started, stop: () => child.kill() };
}

/** Latencies of the successful queries in milliseconds, sorted, and the number of failed queries. */
interface Light {
  readonly times: readonly number[];
  readonly failures: number;
}

/** Sends one query at a time until the promise `until` is fulfilled. */
async function sendRepeatedly({ url, token, body }: Target, until: Promise<unknown>): Promise<Light> {
  const pool = new Pool(url, { connections: 1, headersTimeout: 60_000 });
  const times: number[] = [];
  let failures = 0;
  const over = new AbortController();
  void until.then(() => over.abort());
  while (!over.signal.aborted) {
    const began = performance.now();
    const answer = await pool.request({
      method: "POST",
      path: "/graphql",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body,
    });
    const text = await answer.body.text();
    if (text.startsWith(`{"data"`) && !text.includes(`"errors":[`)) times.push(performance.now() - began);
    else failures++;
    await sleep(PAUSE_MS);
  }
  await pool.destroy();
  return { times: times.toSorted((one, other) => one - other), failures };
}

const percentile = ({ times }: Light, share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;

const lightRow = (name: string, light: Light) =>
  row(
    name,
    light.times.length,
    light.failures,
    ...[0.5, 0.99, 1].map((share) => round(percentile(light, share))),
  );

/** Waits until the gateway sends upstream requests for the heavy operations, and two seconds more. */
async function underWay(gateway: Running): Promise<void> {
  const running = /^rungraph_upstream_requests_running [1-9]/m;
  while (!running.test(await metricsOf(gateway))) await sleep(50);
  await seconds(2);
}

const service = await startService();
// A rate limit per token would hide how the two tokens affect each other.
const gateway = await startGateway(service, { UPSTREAM_RATE_LIMIT: "off" });
const light: Target = { ...targetOf(gateway, service, FILES["start page"]), token: "light" };
const heavy: Target = { ...targetOf(gateway, service, FILES["group with 24 runs"]), token: "heavy" };

// Warms up both kinds of operation.
await sendRepeatedly(heavy, seconds(3));
await sendRepeatedly(light, seconds(3));
const alone = await sendRepeatedly(light, seconds(ALONE_SECONDS));
const crowd = forkOf(new URL("./fairness-heavy.ts", import.meta.url));
crowd.send(heavy);
await underWay(gateway);
const beside = await sendRepeatedly(light, seconds(BESIDE_SECONDS));
crowd.send("over");
const [counts] = (await once(crowd, "message")) as [Record<string, number>];
crowd.kill();

const ratioOf = (share: number) => percentile(beside, share) / percentile(alone, share);
const isMet = ratioOf(0.99) < GOAL && beside.failures === 0;
say(
  [
    "| Queries of the light token (one upstream request) | succeeded | failed | p50, ms | p99, ms | slowest, ms |",
    "|---|---|---|---|---|---|",
    lightRow("alone", alone),
    lightRow("beside 250 heavy operations", beside),
    "",
    `Heavy operations by status and code: ${Object.entries(counts)
      .map((entry) => entry.join(": "))
      .join(", ")}`,
    `Compared with alone: p50 ${round(ratioOf(0.5))} times, p99 ${round(ratioOf(0.99))} times. Goal: p99 less than ${GOAL} times, no failures: ${isMet ? "met" : "NOT MET"}`,
  ].join("\n"),
);
process.exitCode = isMet ? 0 : 1;
await stopGateway(gateway);
service.stop();
