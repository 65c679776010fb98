import { describe, expect, onTestFinished, test, vi } from "vitest";
import { gate } from "../support/gate.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import type { Gateway } from "../support/gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import { PATIENT } from "../support/patience.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { connected, live, responsesOf, startExperiments, startReplicas, watch } from "../support/replicas.ts";

const MINUTE_MS = 60_000;
const TABS = [1, 2, 3, 4];

/** Four tabs in each of the processes, opened so many milliseconds after those of the one before. */
async function openTabs(replicas: readonly Gateway[], hand: ReturnType<typeof handClock>, apartMs: number) {
  const tabs = [];
  const isQuiet = () => hand.timers().length === tabs.length + Math.ceil(tabs.length / TABS.length);
  for (const replica of replicas) {
    tabs.push(...(await Promise.all(TABS.map(() => watch(replica)))));
    await live(hand, hand.clock.now() + apartMs, isQuiet);
  }
  return { tabs, isQuiet };
}

describe.skipIf(!hasRedis)("16 tabs of one user in four processes", () => {
  test.each([40, 317, 1_250, 5_000, 15_000])(
    "cost the service at most 15 requests a minute when they open %d ms apart",
    async (apartMs) => {
      const hand = handClock();
      const service = await startExperiments();
      const { url } = await startRedis();
      const replicas = await startReplicas(4, url, { upstream: service, clock: hand.clock });
      await connected(replicas);
      const { tabs, isQuiet } = await openTabs(replicas, hand, apartMs);
      await live(hand, MINUTE_MS, isQuiet);
      expect(service.seen().length).toBeLessThanOrEqual(15);
      for (const tab of tabs)
        expect(await tab.next()).toMatchObject({ data: { runUpdated: { run: { status: "RUNNING" } } } });
      const found = await Promise.all(replicas.map(responsesOf));
      expect(found.reduce((sum, each) => sum + (each["poll found"] ?? 0), 0)).toBeGreaterThan(5);
      // What changes is told to all, at most one interval late.
      service.state.status = "succeeded";
      await live(hand, hand.clock.now() + 30_000, () => hand.timers().length % 4 === 0);
      for (const tab of tabs)
        expect(await tab.next()).toMatchObject({
          data: { runUpdated: { isFinal: true, run: { status: "SUCCEEDED" } } },
        });
    },
  );
});

const RUNNING = { data: { runUpdated: { run: { status: "RUNNING" } } } };

/** A service that holds its first answer back. */
async function startHolding() {
  const answered = gate();
  let isHeld = true;
  const service = await startExperiments(async () => {
    if (isHeld) {
      isHeld = false;
      await answered.opened;
    }
    return undefined;
  });
  return { service, answer: answered.open };
}

describe.skipIf(!hasRedis)("a process that polls for others", () => {
  test("and is killed leaves the poll to them", async () => {
    const { service, answer } = await startHolding();
    const { url } = await startRedis();
    const holder = await startGatewayProcess(service.url, { REDIS_URL: url });
    onTestFinished(() => holder.kill());
    const [other] = await startReplicas(1, url, { upstream: service });
    if (!other) throw new TypeError("one was started");
    await connected([other]);
    await watch(holder);
    await vi.waitUntil(() => service.seen().length === 1, PATIENT);
    const tab = await watch(other);
    await holder.kill();
    expect(await tab.next()).toMatchObject(RUNNING);
    service.state.status = "succeeded";
    expect(await tab.next()).toMatchObject({ data: { runUpdated: { isFinal: true } } });
    answer();
  });

  test("and gets no answer holds the others up for a second", async () => {
    const hand = handClock();
    const { service, answer } = await startHolding();
    const { url } = await startRedis();
    const replicas = await startReplicas(2, url, { upstream: service, clock: hand.clock });
    await connected(replicas);
    const tabs = [];
    for (const [index, replica] of replicas.entries()) {
      tabs.push(await watch(replica));
      hand.advance(20);
      await vi.waitUntil(async () => {
        const { "poll missing": missing = 0, "poll waits": waits = 0 } = await responsesOf(replica);
        return index === 0 ? missing === 1 : waits > 0;
      }, PATIENT);
    }
    hand.advance(1_000);
    expect(await tabs[1]?.next()).toMatchObject(RUNNING);
    answer();
  });
});
