import { expect, onTestFinished, test, vi } from "vitest";
import { within } from "../support/machine.ts";
import { BUILT } from "../support/built.ts";
import { startFake } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { globalId } from "../support/ids.ts";
import { mainIn } from "../support/main-process.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { subscribe } from "../support/subscriber.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** A run of 19 kB. */
const runOf = (id: number) => ({
  id,
  uuid: `e${id}`,
  unique_name: `ada.mnist.${id}`,
  project: "ada.mnist",
  description: "d".repeat(12_000),
  updated_at: "2026-01-01T00:00:00Z",
  last_status: "running",
  declarations: Object.fromEntries(numbers(200).map((name) => [`parameter${name}`, id + name])),
  last_metric: Object.fromEntries(numbers(100).map((name) => [`metric${name}`, id / (name + 2)])),
});

/** Starts a gateway process with the heap limit of the files of `deploy`. */
async function start(...args: Parameters<typeof startFake>) {
  const service = await startFake(...args);
  const env = {
    UPSTREAM_PROFILE: "polyaxon-0.4",
    UPSTREAM_RATE_LIMIT: "off",
    LIVE_REQUESTS_PER_MINUTE: "1000",
    REQUEST_TIMEOUT_MS: "600000",
  };
  const program = ["--max-old-space-size=384", "--max-semi-space-size=32", mainIn(BUILT)];
  const gateway = await startGatewayProcess(service.url, env, program);
  onTestFinished(gateway.kill);
  return { service, gateway };
}

/** Waits until the service has seen this many requests, or the gateway has ended. */
async function requestsOf({ service, gateway }: Awaited<ReturnType<typeof start>>, count: number) {
  const isOver = () =>
    gateway.expectAlive().then(
      () => service.seen().length >= count,
      () => true,
    );
  await vi.waitUntil(isOver, { ...LONG_TIMEOUT, timeout: within(250_000), interval: 100 });
  await gateway.expectAlive();
}

test("a process survives 48 subscriptions of one token to 9.5 MB lists", async () => {
  const rows = numbers(500).map((index) => runOf(index + 1));
  const results = Buffer.from(JSON.stringify({ count: 500, next: null, results: rows }));
  expect(results.length).toBeGreaterThan(9_000_000);
  const processes = await start(() => ({ text: results, headers: { "content-type": "application/json" } }));
  const query = `subscription ($of: ID!, $first: Int) {
    runsUpdated(of: $of, first: $first) { reason run { id status } }
  }`;
  for (const index of numbers(48)) {
    const variables = { of: globalId("Project:ada/mnist"), first: 500 - index };
    const stream = await subscribe(processes.gateway.url, { query, variables });
    const readAll = async () => {
      while (await stream.next());
    };
    readAll().catch(() => {});
  }
  // Each list was requested at least twice, if memory allowed.
  await requestsOf(processes, 120);
});
