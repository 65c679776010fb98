import { describe, expect, onTestFinished, test, vi } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { metricOf, reaches, settled } from "../support/metrics.ts";
import { latch } from "../support/latch.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  askFor,
  experimentIn,
  firstCodeOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  STATUS_UPSTREAM,
  statusesOf,
  statusOf,
  upTo,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { quiet } from "../support/quiet.ts";
import { subscribe, type Subscriber } from "../support/subscriber.ts";
import { refusal, startThrottling } from "../support/throttling.ts";

/** Watches an experiment. */
const watch = (gateway: Gateway, id: number) =>
  subscribe(gateway.url, {
    query: `subscription { runUpdated(id: "ada.mnist.experiments.${id}") { run { status } } }`,
  });

/** The data of the first event with data. After a minute, waiting operations receive the reason. */
async function firstData({ next }: Subscriber) {
  for (let event = await next(); event; event = await next()) if (event.data) return event.data;
  return null;
}

/** Repeatedly advances the clock to the next timer until a promise settles. Fails after an hour. */
async function settle<Value>(
  promise: Promise<Value>,
  { timers, advance, clock }: ReturnType<typeof fakeClock>,
  gateway: Gateway,
): Promise<Value> {
  let isSettled = false;
  promise.finally(() => (isSettled = true)).catch(() => {});
  for (;;) {
    await vi.waitUntil(() => isSettled || timers().length > 0, LONG_TIMEOUT);
    // Sent requests are answered before the clock advances.
    const running = () => metricOf(gateway, "rungraph_upstream_requests_running");
    await vi.waitUntil(async () => isSettled || (await running()) === 0, LONG_TIMEOUT);
    if (isSettled) return promise;
    if (clock.now() > 3_600_000) throw new Error("an hour has passed");
    advance((timers()[0] ?? clock.now()) - clock.now());
  }
}

async function startRateLimited(
  env: Record<string, string> = {},
  answering?: () => Promise<void>,
  record?: object,
) {
  const time = fakeClock();
  const service = await startThrottling(20, time.clock.now, answering, record);
  const gateway = await startGateway({
    upstream: service,
    clock: time.clock,
    env: { UPSTREAM_RATE_LIMIT: "20/60", REQUEST_TIMEOUT_MS: "300000", ...env },
  });
  return { time, service, gateway };
}

describe("a gateway limited to 20 upstream requests a minute", () => {
  test.each([
    ["at once", {}],
    ["one after the other", { UPSTREAM_CONNECTIONS: "1" }],
  ])("sends 15 reads %s and the rest over the minute, without refusals", async (_, env) => {
    const { time, service, gateway } = await startRateLimited(env);
    const answer = gateway.ask(statusesOf(upTo(30)));
    await vi.waitUntil(() => service.seen().length === 15, LONG_TIMEOUT);
    const { data, errors } = await settle(answer, time, gateway);
    expect(errors).toBeUndefined();
    expect(Object.keys(data as object)).toHaveLength(30);
    expect([service.seen().length, service.refused()]).toEqual([30, 0]);
    expect(time.clock.now()).toBeLessThanOrEqual(63_000);
  });

  test("sends one read a minute with a limit of 1/60", async () => {
    const { time, service, gateway } = await startRateLimited({ UPSTREAM_RATE_LIMIT: "1/60" });
    expect(firstCodeOf(await askFor(gateway, statusOf(1)))).toBe("ok");
    expect(firstCodeOf(await settle(askFor(gateway, statusOf(2)), time, gateway))).toBe("ok");
    expect(service.seen()).toHaveLength(2);
    expect(time.clock.now()).toBeGreaterThanOrEqual(60_000);
    expect(time.clock.now()).toBeLessThanOrEqual(63_000);
  });

  test("immediately refuses reads that would miss the deadline, with retryAfterSeconds", async () => {
    // Within this timeout, the limit allows two more requests.
    const { time, service, gateway } = await startRateLimited({
      UPSTREAM_RATE_LIMIT: "20/600",
      REQUEST_TIMEOUT_MS: "300000",
    });
    const { data, errors = [] } = await gateway.ask(statusesOf(upTo(29)));
    const nulls = Object.entries(data as object).flatMap(([name, run]) => (run === null ? [[name]] : []));
    expect(nulls).toHaveLength(14);
    // There is one error, even for several late reads.
    expect(errorsOf({ data, errors })).toEqual([
      failure("of16", "RATE_LIMITED", "The service allows no more requests for now.", {
        upstream: STATUS_UPSTREAM,
        retryAfterSeconds: 300,
        paths: nulls,
      }),
    ]);
    expect([service.seen().length, service.refused()]).toEqual([15, 0]);
    // Requests that the limit allows within the timeout wait.
    expect(firstCodeOf(await settle(askFor(gateway, statusOf(31)), time, gateway))).toBe("ok");
  });

  test("refuses all reads of an operation that would miss the deadline", async () => {
    const { service, gateway } = await startRateLimited({
      REQUEST_TIMEOUT_MS: "3000",
      UPSTREAM_CONNECTIONS: "1",
    });
    const fives = [0, 5, 10, 15].map((before) => upTo(5).map((id) => before + Number(id)));
    const answers = await Promise.all(fives.map((five) => gateway.ask(statusesOf(five))));
    const refused = answers.map(
      ({ data }) => Object.values(data as object).filter((run) => run === null).length,
    );
    expect(refused.toSorted((one, other) => one - other)).toEqual([0, 0, 0, 5]);
    expect([service.seen().length, service.refused()]).toEqual([15, 0]);
  });

  test("alternates a token's operations, so that small operations are not delayed", async () => {
    const { time, service, gateway } = await startRateLimited();
    await askFor(gateway, statusOf(98));
    const large = gateway.ask(statusesOf(upTo(30)));
    await vi.waitUntil(() => service.seen().length === 15, LONG_TIMEOUT);
    const small = askFor(gateway, statusOf(99));
    await reaches(gateway, "rungraph_operations_running", 2);
    let answered = false;
    void small.then(() => (answered = true));
    const isAnswered = () => answered;
    for (let sent = 16; !isAnswered(); sent++) {
      await vi.waitUntil(() => isAnswered() || time.timers().length > 0, LONG_TIMEOUT);
      time.advance((time.timers()[0] ?? time.clock.now()) - time.clock.now());
      await vi.waitUntil(() => isAnswered() || service.seen().length === sent, LONG_TIMEOUT);
      await settled(gateway, () => service.seen().length);
    }
    expect(await small).toEqual(RUNNING_ANSWER);
    expect(service.seen().length).toBeLessThan(25);
    expect((await settle(large, time, gateway)).errors).toBeUndefined();
  });

  test.each([
    ["each for its own limit", "no-cache"],
    ["together", "max-age=0"],
  ])("releases the permits of operations that wait %s, within per-token limits", async (_, cacheControl) => {
    const { time, service, gateway } = await startRateLimited({
      MAX_OPERATIONS: "4",
      MAX_OPERATIONS_PER_TOKEN: "2",
    });
    for (const token of ["ada", "bob"]) await askFor(gateway, statusOf(99), token);
    const waiting = ["ada", "ada", "bob", "bob"].map((token) =>
      gateway.ask(statusesOf(upTo(30)), {}, { token, headers: { "cache-control": cacheControl } }),
    );
    const others = async () => {
      const all = ["eve", "eve", "joe", "joe"].map((token) => askFor(gateway, statusOf(1), token));
      return (await Promise.all(all)).map(firstCodeOf);
    };
    await vi.waitUntil(() => service.seen().length === 30, LONG_TIMEOUT);
    await reaches(gateway, "rungraph_operations_running", 4);
    expect(await others()).toEqual(["ok", "ok", "ok", "ok"]);
    expect(firstCodeOf(await askFor(gateway, statusOf(1), "ada"))).toBe("RATE_LIMITED");
    expect(await metricOf(gateway, "rungraph_operations_running")).toBe(4);
    const answers = await settle(Promise.all(waiting), time, gateway);
    expect(answers.map(({ errors }) => errors)).toEqual(answers.map(() => undefined));
    // All permits are free again.
    expect(await metricOf(gateway, "rungraph_operations_running")).toBe(0);
    expect(await others()).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("limits the number of waiting operations by available memory", async () => {
    const { time, gateway } = await startRateLimited({ MAX_OPERATIONS: "1" });
    const waiting: Promise<unknown>[] = [];
    for (const token of ["ada", "bob", "eve", "joe"]) {
      // The operation is rejected until the previous operation waits for its rate limit.
      await vi.waitUntil(
        async () => firstCodeOf(await askFor(gateway, statusOf(99), token)) === "ok",
        LONG_TIMEOUT,
      );
      waiting.push(gateway.ask(statusesOf(upTo(15)), {}, { token }));
      await reaches(gateway, "rungraph_operations_running", waiting.length);
    }
    expect(firstCodeOf(await askFor(gateway, statusOf(1), "kim"))).toBe("SERVICE_OVERLOADED");
    await settle(Promise.all(waiting), time, gateway);
    expect(firstCodeOf(await askFor(gateway, statusOf(1), "kim"))).toBe("ok");
  });

  test("retries a poll within 15 seconds even if its turn is later", async () => {
    const { time, service, gateway } = await startRateLimited({ REQUEST_TIMEOUT_MS: "30000" });
    await gateway.ask(statusesOf(upTo(14)));
    await watch(gateway, 99);
    await time.reach(20);
    await vi.waitUntil(() => time.timers().some((at) => at > 1_000 && at <= 16_000), LONG_TIMEOUT);
    expect(service.seen()).toHaveLength(14);
  });

  test("reacquires the permit of a waiting operation when its read is sent", async () => {
    const blocked = latch();
    let answering = Promise.resolve();
    const { time, service, gateway } = await startRateLimited({ MAX_OPERATIONS: "1" }, () => answering);
    for (const token of ["ada", "bob"]) await askFor(gateway, statusOf(99), token);
    const asked = gateway.ask(statusesOf(upTo(15)), {}, { token: "ada" });
    // One request waits for the rate limit, and the others have their responses.
    await vi.waitUntil(() => service.seen().length === 16, LONG_TIMEOUT);
    await reaches(gateway, "rungraph_upstream_requests_running", 0);
    expect(firstCodeOf(await askFor(gateway, statusOf(1), "bob"))).toBe("ok");
    answering = blocked.opened;
    await vi.waitUntil(() => (time.advance(1_000), service.seen().length === 18), LONG_TIMEOUT);
    expect(firstCodeOf(await askFor(gateway, statusOf(1), "bob"))).toBe("SERVICE_OVERLOADED");
    blocked.open();
    expect((await settle(asked, time, gateway)).errors).toBeUndefined();
  });

  test("polls once per three query reads when queries exhaust the limit", async () => {
    const { time, service, gateway } = await startRateLimited();
    const watcher = await watch(gateway, 42);
    await time.reach(20);
    await firstData(watcher);
    await settle(gateway.ask(statusesOf(upTo(40))), time, gateway);
    const ids = service.seen().map(({ path }) => experimentIn(path));
    const paced = ids.slice(15, ids.indexOf(40));
    const polls = paced.filter((id) => id === 42).length;
    expect(polls).toBeGreaterThan(2);
    expect(paced.length).toBeGreaterThanOrEqual(4 * polls - 1);
  });

  test("includes the delay of a late poll in its event", async () => {
    const record = { ...RUNNING_RECORD };
    const { time, service, gateway } = await startRateLimited({}, undefined, record);
    const watcher = await watch(gateway, 42);
    await time.reach(20);
    await firstData(watcher);
    const before = service.seen().length;
    const operation = gateway.ask(statusesOf(upTo(80)));
    // The clock does not advance until the remaining reads wait.
    await vi.waitUntil(() => service.seen().length > before + 4, LONG_TIMEOUT);
    record.last_status = "succeeded";
    const event = await settle(watcher.next(), time, gateway);
    expect(event).toEqual({
      data: { runUpdated: { run: { status: "SUCCEEDED" } } },
      extensions: { live: { lateBySeconds: expect.any(Number) } },
    });
    expect(await watcher.next()).toBe(null);
    await settle(operation, time, gateway);
  });

  test("counts a read when it is sent, not while it is queued", async () => {
    const first = latch();
    const { time, service, gateway } = await startRateLimited(
      { UPSTREAM_CONNECTIONS_PER_TOKEN: "1" },
      () => first.opened,
    );
    const slow = gateway.ask(statusesOf(upTo(15)));
    await vi.waitUntil(() => service.seen().length === 1, LONG_TIMEOUT);
    time.advance(55_000);
    first.open();
    expect((await slow).errors).toBeUndefined();
    time.advance(6_000);
    const { errors } = await settle(gateway.ask(statusesOf(upTo(15))), time, gateway);
    expect(errors).toBeUndefined();
    expect([service.seen().length, service.refused()]).toEqual([30, 0]);
  });

  test("polls all subscriptions of a token alternately", async () => {
    const { time, gateway } = await startRateLimited();
    const watchers = await Promise.all(upTo(24).map((id) => watch(gateway, id)));
    const reported = Promise.all(watchers.map(firstData));
    expect(await settle(reported, time, gateway)).toEqual(
      watchers.map(() => ({ runUpdated: { run: { status: "RUNNING" } } })),
    );
  });

  test("resumes polling as soon as the waiting queries are sent", async () => {
    const { time, service, gateway } = await startRateLimited();
    const answer = gateway.ask(statusesOf(upTo(30)));
    await vi.waitUntil(() => service.seen().length === 15, LONG_TIMEOUT);
    const watcher = await watch(gateway, 42);
    await time.reach(20);
    await settle(answer, time, gateway);
    expect(await settle(firstData(watcher), time, gateway)).toEqual({
      runUpdated: { run: { status: "RUNNING" } },
    });
  });

  test.each([
    // The fourth request would be sent after a waiting request.
    { polls: "wait", timeoutMs: "300000", answered: 3 },
    { polls: "cannot wait", timeoutMs: "12000", answered: 4 },
  ])("reserves the last quarter for queries when polls $polls", async (each) => {
    const { time, service, gateway } = await startRateLimited({ REQUEST_TIMEOUT_MS: each.timeoutMs });
    // These are 11 of the 15 requests that may be sent in a burst.
    await gateway.ask(statusesOf(upTo(11)));
    await Promise.all(upTo(20).map((id) => watch(gateway, id)));
    await time.reach(20);
    for (const id of upTo(each.answered)) expect(firstCodeOf(await askFor(gateway, statusOf(id)))).toBe("ok");
    expect([service.seen().length, service.refused()]).toEqual([11 + each.answered, 0]);
  });

  test("uses half of the limit for polls, whatever LIVE_REQUESTS_PER_MINUTE is", async () => {
    const { time, service, gateway } = await startRateLimited({ LIVE_REQUESTS_PER_MINUTE: "1000" });
    await Promise.all(upTo(20).map((id) => watch(gateway, id)));
    for (let count = 2; count <= 10; count++) {
      await vi.waitUntil(() => (time.advance(100), service.seen().length >= count), LONG_TIMEOUT);
      await quiet(() => service.seen().length);
    }
    expect(time.clock.now()).toBeLessThan(60_000);
    time.advance(60_000 - time.clock.now());
    await quiet(() => service.seen().length);
    expect(service.seen()).toHaveLength(10);
  });
});

test("the explanation reports how long and why a request waited", async () => {
  const { time, gateway } = await startRateLimited({ UPSTREAM_RATE_LIMIT: "4/60", EXPLAIN: "on" });
  const spy = vi.spyOn(performance, "now").mockImplementation(() => time.clock.now());
  onTestFinished(() => spy.mockRestore());
  time.advance(1_000);
  const answer = gateway.ask(statusesOf(upTo(5)), {}, { headers: { "x-rungraph-explain": "1" } });
  const { extensions } = (await settle(answer, time, gateway)) as unknown as {
    extensions: { explain: { requests: { waitedMs: number; waitedFor: string | null }[] } };
  };
  const waited = extensions.explain.requests.map(({ waitedMs }) => waitedMs);
  // Three requests are sent immediately, and the others after the minute.
  expect(waited).toHaveLength(5);
  expect(waited.filter((ms) => ms > 0)).toHaveLength(2);
  const reasons = extensions.explain.requests.map(({ waitedFor }) => waitedFor);
  expect(reasons).toEqual([null, null, null, "RATE_LIMIT", "RATE_LIMIT"]);
});

/** Starts a server of release 0.4, which has a separate limit for metrics: 20 requests in a second, and 120 others in a minute. */
async function startTwoThrottles() {
  const time = fakeClock();
  const sent: { metrics: number[]; others: number[] } = { metrics: [], others: [] };
  let refused = 0;
  const service = await startFake(({ path }) => {
    const isMetrics = /\/metrics\b/.test(path);
    const times = isMetrics ? sent.metrics : sent.others;
    const [most, seconds] = isMetrics ? [20, 1] : [120, 60];
    const now = time.clock.now();
    if (times.filter((at) => at > now - seconds * 1_000).length >= most) {
      refused++;
      return refusal(seconds);
    }
    times.push(now);
    if (!isMetrics) return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
    return { json: { count: 1, next: null, results: [{ id: 1, values: { loss: 0.5 } }] } };
  });
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "120/60", EXPLAIN: "on" };
  const gateway = await startGateway({ upstream: service, clock: time.clock, env });
  return { time, gateway, sent, refused: () => refused };
}

const curvesOf = (count: number) =>
  `{ ${upTo(count)
    .map(
      (id) =>
        `of${id}: experiment(id: "ada.mnist.${id}") { metrics(first: 1) { nodes { values { value } } } }`,
    )
    .join(" ")} }`;

describe("a service that limits metrics separately", () => {
  test("serves 100 metric curves without refusals, and other reads meanwhile", async () => {
    const { time, gateway, sent, refused } = await startTwoThrottles();
    const curves = gateway.ask(curvesOf(100));
    await vi.waitUntil(() => sent.metrics.length === 15, LONG_TIMEOUT);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    const { data, errors } = await settle(curves, time, gateway);
    expect(errors).toBeUndefined();
    expect(new Set(Object.values(data as object).map((curve) => JSON.stringify(curve)))).toEqual(
      new Set([JSON.stringify({ metrics: { nodes: [{ values: [{ value: 0.5 }] }] } })]),
    );
    expect([sent.metrics.length, sent.others.length, refused()]).toEqual([100, 1, 0]);
    expect(time.clock.now()).toBeLessThan(10_000);
  });

  test("gets metric reads late after another client's burst, unlike other reads", async () => {
    const { time, gateway, sent, refused } = await startTwoThrottles();
    sent.metrics.push(...Array<number>(20).fill(0));
    const curves = gateway.ask(curvesOf(40));
    await vi.waitUntil(() => refused() > 0, LONG_TIMEOUT);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    expect((await settle(curves, time, gateway)).errors).toBeUndefined();
    expect(sent.metrics).toHaveLength(60);
  });
});
