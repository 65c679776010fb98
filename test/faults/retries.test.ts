import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { BREAKER, counted, freezeWindows, inSequence, startBreakable } from "./breakable.ts";
import { cases } from "../support/cases.ts";
import { reset, respondWith } from "./faults.ts";
import { metricOf, reaches } from "../support/metrics.ts";
import { statusOf } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { begin } from "../support/readers.ts";

const env = { UPSTREAM_RETRIES: "2" };

describe("retries of reads", () => {
  beforeEach(() => {
    freezeWindows();
    // Removes the random pause of the backoff.
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
  });

  test("are limited to ten per 10 seconds under low load", async () => {
    const { service, many, pass } = await startBreakable(env);
    service.fail(/./, reset, (call) => call <= 19);
    await many(9);
    expect(service.calls()).toHaveLength(19);
    // The circuit is not tested here: it closes again.
    pass(11_000);
    await many(30);
    service.fail(/./, reset, (call) => call === 1);
    expect(await many(1)).toEqual(["ok"]);
    service.heal();
    await many(30);
    pass(11_000);
    const before = service.calls().length;
    service.fail(/./, reset, (call) => call <= 19);
    await many(9);
    expect(service.calls()).toHaveLength(before + 19);
  });

  test("wait with increasing backoff, and are skipped past the deadline", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.0123);
    const set = vi.spyOn(globalThis, "setTimeout");
    const { service, one, pass } = await startBreakable({ ...env, REQUEST_TIMEOUT_MS: "600000" });
    service.fail(/./, reset, (call) => call <= 2);
    expect(await one()).toBe("ok");
    const refusal = respondWith({ status: 503, text: "", headers: { "retry-after": "2" } });
    service.fail(/./, refusal, (call) => (pass(599_000), call === 1));
    expect(await one()).toBe("UPSTREAM_UNAVAILABLE, again in 2");
    const pauses = set.mock.calls.map(([, ms = 0]) => Math.round(1_000 * ms));
    expect(pauses).toEqual(expect.arrayContaining([1_230, 2_460]));
    service.fail(
      /./,
      respondWith({ status: 503, text: "", headers: { "retry-after": "3" } }),
      (call) => call === 1,
    );
    expect(await one()).toBe("UPSTREAM_UNAVAILABLE, again in 3");
  });

  test("are neither sent nor counted if the caller disconnects during backoff", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const { service, gateway, one } = await startBreakable(env);
    service.fail(
      /./,
      respondWith({ status: 503, text: "", headers: { "retry-after": "2" } }),
      (call) => call === 1,
    );
    const caller = begin(gateway.url, { path: "/graphql", graphql: statusOf(7) });
    await vi.waitUntil(() => set.mock.calls.some(([, ms]) => ms === 2_000), LONG_TIMEOUT);
    caller.destroy();
    await reaches(gateway, "rungraph_operations_running", 0);
    expect(await one()).toBe("ok");
    expect(service.calls()).toHaveLength(2);
    expect(await metricOf(gateway, "rungraph_upstream_request_seconds_count")).toBe(2);
  });

  test("are limited to a tenth of requests under high load", async () => {
    const { service, one, many } = await startBreakable(env);
    await many(150);
    service.fail(/./, reset);
    // The circuit stays closed, because most exchanges succeeded.
    expect(counted(await inSequence(50, one))).toEqual({ UPSTREAM_UNAVAILABLE: 50 });
    const more = service.calls().length - 200;
    expect(more).toBeGreaterThanOrEqual(15);
    expect(more).toBeLessThanOrEqual(23);
  });

  test("of one caller leave retries to others", async () => {
    const { service, one } = await startBreakable(env);
    const [failing, other] = [{ token: "failing" }, { token: "other" }];
    for (const options of [failing, other]) expect(await one(1, options)).toBe("ok");
    service.fail(/experiments\/7\//, reset);
    for (let round = 0; round < 6; round++) expect(await one(7, failing)).toBe("UPSTREAM_UNAVAILABLE");
    expect(service.calls()).toHaveLength(2 + 6 + 10);
    service.fail(/experiments\/8\//, reset, (call) => call === 1);
    expect(await one(8, other)).toBe("ok");
  });

  test("gain no budget from requests that were not sent", async () => {
    const { service, many, one, pass } = await startBreakable(env);
    service.fail(/./, reset);
    await many(20);
    const unsent = cases(100, 500);
    expect(counted(await many(unsent))).toEqual({ [BREAKER]: unsent });
    pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
    const before = service.calls().length;
    service.fail(/./, reset, (call) => call <= 25);
    await many(60);
    expect(service.calls().length - before).toBeLessThanOrEqual(60 + 10);
  });
});
