import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { metricOf, reaches } from "../support/metrics.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { latch } from "../support/latch.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import {
  askFor,
  experimentIn,
  firstCodeOf,
  RUNNING_RECORD,
  statusesOf,
  statusOf,
  upTo,
} from "../support/one-read.ts";
import { begin } from "../support/readers.ts";

const WAITING = "rungraph_upstream_requests_waiting";
const TOKENS = ["a", "b", "c"];

/** Starts a service that answers, delays or fails requests, behind a gateway whose queue holds four. */
async function start(env: Record<string, string>) {
  const time = fakeClock();
  let mode: "answer" | "delay" | "fail" = "answer";
  let blocked = latch();
  const service = await startFake(async ({ path }) => {
    if (mode === "fail") return { text: "", status: 503 };
    if (mode === "delay") await blocked.opened;
    return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
  });
  const gateway = await startGateway({
    upstream: service,
    clock: time.clock,
    env: { UPSTREAM_QUEUE: "4", REQUEST_TIMEOUT_MS: "300000", ...env },
  });
  const be = (next: typeof mode) => {
    mode = next;
    if (mode === "answer") blocked.open();
    else blocked = latch();
  };
  for (const token of TOKENS) expect(firstCodeOf(await askFor(gateway, statusOf(99), token))).toBe("ok");
  return { time, service, gateway, be };
}

type Started = Awaited<ReturnType<typeof start>>;

interface Cause {
  readonly env?: Record<string, string>;
  /** Brings the gateway into a state in which further requests of the tokens wait. */
  readonly block: (started: Started) => Promise<unknown>;
  /** Releases one request after the other. */
  readonly unblock: (started: Started) => void;
}

/** Every reason why an upstream request can wait. A reason without a row fails the last test. */
const CAUSES: Readonly<Record<string, Cause>> = {
  CONCURRENCY: {
    env: { UPSTREAM_CONNECTIONS: "1" },
    block: async ({ gateway, service, be }) => {
      be("delay");
      open(gateway, statusOf(98), "c");
      await vi.waitUntil(() => service.seen().length === TOKENS.length + 1, LONG_TIMEOUT);
    },
    unblock: ({ be }) => be("answer"),
  },
  RATE_LIMIT: {
    env: { UPSTREAM_RATE_LIMIT: "20/60" },
    // Together with the previous requests, these requests use up the burst.
    block: ({ gateway }) =>
      Promise.all(TOKENS.map((token) => gateway.ask(statusesOf(upTo(14)), {}, { token }))),
    unblock: ({ time }) => time.advance((time.timers()[0] ?? time.clock.now()) - time.clock.now()),
  },
  CIRCUIT: {
    block: async ({ gateway, time, be, service }) => {
      time.advance(10_000);
      be("fail");
      for (const id of upTo(20)) await askFor(gateway, statusOf(id), "c");
      be("delay");
      time.advance(5_000);
      const before = service.seen().length;
      open(gateway, statusOf(97), "c");
      await vi.waitUntil(() => service.seen().length > before, LONG_TIMEOUT);
    },
    unblock: ({ be }) => be("answer"),
  },
};

/** Reads experiments on a new connection. Returns how to close it. */
function open(gateway: Gateway, graphql: string, token: string): () => void {
  const sent = begin(gateway.url, { path: "/graphql", graphql, token });
  onTestFinished(() => void sent.destroy());
  return () => void sent.destroy();
}

describe.each(Object.entries(CAUSES))(
  "an upstream request that waits for %s",
  (reason, { env = {}, block, unblock }) => {
    const isWaiting = (gateway: Gateway, count: number) =>
      reaches(gateway, `${WAITING}{reason="${reason}"}`, count);
    /** The number of waiting requests of the callers that block the others. */
    const waitingBefore = (gateway: Gateway) => metricOf(gateway, WAITING);

    test("is counted, and alternates with the requests of other callers", async () => {
      const started = await start(env);
      const { gateway, service } = started;
      await block(started);
      const others = await waitingBefore(gateway);
      const large = gateway.ask(statusesOf([1, 2, 3]), {}, { token: "a" });
      await isWaiting(gateway, others + 3);
      const small = askFor(gateway, statusOf(4), "b");
      await isWaiting(gateway, others + 4);
      const before = service.seen().length;
      let isDone = false;
      void Promise.all([large, small]).then(() => (isDone = true));
      await vi.waitUntil(() => (unblock(started), isDone), LONG_TIMEOUT);
      expect([(await large).errors, (await small).errors]).toEqual([undefined, undefined]);
      const ids = service.seen().map(({ path }) => experimentIn(path));
      const order = ids.slice(before).filter((id) => id <= 4);
      expect(order.toSorted()).toEqual([1, 2, 3, 4]);
      // At most two requests of the other caller were sent before.
      expect(order.indexOf(4)).toBeLessThanOrEqual(2);
      expect(await metricOf(gateway, WAITING)).toBe(0);
    });

    test("leaves the queue when its client disconnects", async () => {
      const started = await start(env);
      const { gateway, service } = started;
      await block(started);
      const others = await waitingBefore(gateway);
      const before = service.seen().length;
      const close = open(gateway, statusesOf([1, 2, 3]), "a");
      await isWaiting(gateway, others + 3);
      close();
      await isWaiting(gateway, others);
      expect(service.seen()).toHaveLength(before);
    });

    test("fills only its caller's queue, and sheds no other caller's operation", async () => {
      const started = await start(env);
      const { gateway } = started;
      await block(started);
      const others = await waitingBefore(gateway);
      open(gateway, statusesOf([1, 2, 3, 4]), "a");
      await isWaiting(gateway, others + 4);
      expect(firstCodeOf(await askFor(gateway, statusOf(5), "a"))).toBe("SERVICE_OVERLOADED");
      expect(await metricOf(gateway, "rungraph_upstream_requests_shed_total")).toBe(1);
      open(gateway, statusOf(6), "b");
      await isWaiting(gateway, others + 5);
    });
  },
);

test("every reported reason for waiting is covered by these tests", async () => {
  const gateway = await startGateway({ upstream: await startFake(() => ({ json: {} })) });
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const reasons = [...text.matchAll(new RegExp(`^${WAITING}\\{reason="(\\w+)"\\}`, "gm"))].map(
    ([, name]) => name,
  );
  expect(reasons.toSorted()).toEqual(Object.keys(CAUSES).toSorted());
});
