import { describe, expect, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { handClock } from "../support/hand-clock.ts";
import { askFor, firstCodeOf, statusOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { connected, startReplicas } from "../support/replicas.ts";
import { refusal, startThrottling } from "../support/throttling.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

const STATUSES = `{ ${upTo(3)
  .map((id) => `of${id}: experiment(id: "ada.mnist.${id}") { status }`)
  .join(" ")} }`;

/** Four processes in front of a service that answers 120 requests of a token in a minute. */
async function startThrottled(env: Record<string, string> = {}) {
  const hand = handClock();
  const service = await startThrottling(120, hand.clock.now);
  const { url } = await startRedis();
  const replicas = await startReplicas(4, url, {
    upstream: service,
    clock: hand.clock,
    env: { UPSTREAM_RATE_LIMIT: "120/60", ...env },
  });
  await connected(replicas);
  return { hand, service, replicas };
}

describe.skipIf(!hasRedis)(
  "a service that answers 120 requests a minute, asked by four processes with one token",
  () => {
    test("refuses none of 240: what is not allowed yet waits, in each of them", async () => {
      const { hand, service, replicas } = await startThrottled();
      const answered = new Set<number>();
      const codes = upTo(240).map(async (id) => {
        const replica = replicas[id % 4];
        const code = replica && firstCodeOf(await askFor(replica, statusOf(id)));
        answered.add(id);
        return code;
      });
      await vi.waitUntil(() => service.seen().length >= 80, PATIENT);
      while (answered.size < 240) {
        await vi.waitUntil(() => answered.size === 240 || hand.timers().length > 0, PATIENT);
        hand.advance(Math.max(0, (hand.timers()[0] ?? 0) - hand.clock.now()));
      }
      expect(new Set(await Promise.all(codes))).toEqual(new Set(["ok"]));
      expect([service.seen().length, service.refused()]).toEqual([240, 0]);
      // 114 in any period of 60.5 s.
      expect(hand.clock.now()).toBeLessThanOrEqual(2.5 * 60_500);
    });

    test("is not asked for what cannot wait: in any process callers learn at once when to come again", async () => {
      const { service, replicas } = await startThrottled({ UPSTREAM_RATE_LIMIT: "4/3600" });
      const answers = await Promise.all(replicas.map((replica) => replica.ask(STATUSES)));
      const waits = answers.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions));
      expect(waits).toHaveLength(9);
      for (const wait of waits) expect(wait).toMatchObject({ code: "RATE_LIMITED", retryAfterSeconds: 300 });
      expect(service.seen()).toHaveLength(3);
    });

    test("is not asked by any of them while it has asked one for a pause", async () => {
      const hand = handClock();
      const { url } = await startRedis();
      const service = await startFake(() => refusal(100));
      const env = { UPSTREAM_RATE_LIMIT: "120/60", REQUEST_TIMEOUT_MS: "90000" };
      const replicas = await startReplicas(4, url, { upstream: service, clock: hand.clock, env });
      await connected(replicas);
      for (const replica of replicas)
        expect((await askFor(replica)).errors?.[0]?.extensions).toMatchObject({
          code: "RATE_LIMITED",
          retryAfterSeconds: 100,
        });
      expect(service.seen()).toHaveLength(1);
    });

    test("counts each token for itself", async () => {
      const { service, replicas } = await startThrottled();
      const codes = await Promise.all(
        ["ada", "bob", "eve"].flatMap((token) =>
          upTo(80).map(async (id) => {
            const replica = replicas[id % 4];
            return replica && firstCodeOf(await askFor(replica, statusOf(id), token));
          }),
        ),
      );
      expect(new Set(codes)).toEqual(new Set(["ok"]));
      expect(service.refused()).toBe(0);
    });
  },
);
