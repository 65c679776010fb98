import { describe, expect, test, vi } from "vitest";
import type { Seen } from "../support/fake.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { metricOf, settled } from "../support/metrics.ts";
import { startGateway } from "../support/gateway.ts";
import { askFor, experimentIn, RUNNING_ANSWER, RUNNING_RECORD, statusOf, upTo } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { startWorkers } from "../support/workers.ts";

const SERVICE_MS = 800;

const METRIC = { id: 1, values: { loss: 0.5 }, created_at: "2026-01-01T00:00:00Z" };

const responseTo = ({ path, method }: Seen) => {
  if (method !== "GET") return { text: "", status: 200 };
  if (path.includes("/metrics")) return { json: { count: 1, next: null, previous: null, results: [METRIC] } };
  return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
};

/** Starts a gateway with default limits, in front of a service with this number of workers and the same clock. */
async function startSlow(workers: number) {
  const { clock, advance } = fakeClock();
  const service = await startWorkers({
    workers,
    serviceMs: SERVICE_MS,
    timeoutMs: 4_000,
    queue: 64,
    now: clock.now,
    responseTo,
  });
  const gateway = await startGateway({
    upstream: service,
    clock,
    env: {
      UPSTREAM_INITIAL_CONNECTIONS: "16",
      UPSTREAM_CONNECTIONS_PER_TOKEN: "64",
      MAX_UPSTREAM_WIDTH: "64",
    },
  });
  /** Waits until every request has reached the service, and every response the gateway. */
  const arrived = () =>
    vi.waitUntil(
      async () => (await metricOf(gateway, "rungraph_upstream_requests_running")) === service.open(),
      LONG_TIMEOUT,
    );
  /** Repeatedly advances the clock by the duration of one request until a promise settles. Calls `before` each time. */
  const serve = async <Value>(
    promise: Promise<Value>,
    before = async (_tick: number) => {},
  ): Promise<Value> => {
    let isSettled = false;
    promise.finally(() => (isSettled = true)).catch(() => {});
    for (let tick = 0; ; tick++) {
      await arrived();
      if (isSettled) return promise;
      await before(tick);
      await arrived();
      advance(SERVICE_MS);
      service.tick();
    }
  };
  return { gateway, service, clock, serve };
}

const HUNDRED = upTo(100);
const CURVES = `{ ${HUNDRED.map((id) => `of${id}: experiment(id: "ada.mnist.${id}") { metrics(first: 1) { nodes { values { name value } } } }`).join(" ")} }`;

describe.each([4, 8])("a gateway with %d upstream workers that take 0.8 s per request", (workers) => {
  test("answers reads of a hundred runs before their deadline", async () => {
    const { gateway, service, serve } = await startSlow(workers);
    const { data, errors } = await serve(gateway.ask<object, unknown>(CURVES));
    expect(errors).toBeUndefined();
    expect(Object.values(data).filter((curve) => curve === null)).toEqual([]);
    expect(service.seen()).toHaveLength(100);
  });

  test("executes a hundred commands with known outcomes", async () => {
    const { gateway, service, serve } = await startSlow(workers);
    const ids = HUNDRED.map((id) => `ada.mnist.experiments.${id}`);
    const { data } = await serve(
      gateway.ask<{ bookmarkRuns: { results: { outcome: string }[] } }, unknown>(
        "mutation ($ids: [ID!]!) { bookmarkRuns(ids: $ids) { results { outcome } } }",
        { ids },
      ),
    );
    expect(new Set(data.bookmarkRuns.results.map(({ outcome }) => outcome))).toEqual(new Set(["DONE"]));
    expect(service.seen()).toHaveLength(100);
  });

  test("answers another token within three service times under this load", async () => {
    const { gateway, service, clock, serve } = await startSlow(workers);
    const waits: number[] = [];
    const small: Promise<void>[] = [];
    const read = async (id: number) => {
      const began = clock.now();
      expect(await askFor(gateway, statusOf(id), "light")).toEqual(RUNNING_ANSWER);
      waits.push((clock.now() - began) / SERVICE_MS);
    };
    await serve(gateway.ask(CURVES), async (tick) => {
      small.push(read(1_000 + tick));
      await settled(gateway, () => service.seen().length);
    });
    await serve(Promise.all(small));
    expect(Math.max(...waits)).toBeLessThanOrEqual(3);
  });
});
