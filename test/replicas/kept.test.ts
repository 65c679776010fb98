import { writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { gate } from "../support/gate.ts";
import { askFor, firstCodeOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { connectTo, hasRedis, startRedis } from "../support/redis.ts";
import { handClock } from "../support/hand-clock.ts";
import { connected, startExperiments, startReplicas } from "../support/replicas.ts";
import { writeFiles } from "../support/tls.ts";

const ASK = `{ experiment(id: "ada.mnist.42") { description } }`;
const WRITE = `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "new" }) { experiment { name } } }`;

const written = (times: number) => ({ data: { experiment: { description: `written ${times} times` } } });

/** Two processes with one Redis, in front of a service. */
async function startPair(
  service: Awaited<ReturnType<typeof startExperiments>>,
  given: Record<string, string> = {},
) {
  const hand = handClock();
  const { url } = await startRedis();
  const env = { REDIS_SHARED_READS: "on", CACHE_TTL_MS: "60000", ...given };
  const [first, second] = await startReplicas(2, url, { upstream: service, clock: hand.clock, env });
  if (!first || !second) throw new TypeError("two were started");
  await connected([first, second]);
  return { ...hand, redis: await connectTo(url), first, second };
}

/** Waits until a response is kept in Redis. */
const kept = (redis: Awaited<ReturnType<typeof connectTo>>) =>
  vi.waitUntil(async () => (await redis.keys("rungraph:response:*")).length > 0, PATIENT);

describe.skipIf(!hasRedis)("what one process keeps of what another one has got", () => {
  test("is no older than CACHE_TTL_MS says", async () => {
    const service = await startExperiments();
    const { redis, first, second, advance } = await startPair(service);
    await askFor(first, ASK);
    await kept(redis);
    advance(40_000);
    expect(await askFor(second, ASK)).toEqual(written(0));
    service.state.writes = 3;
    advance(20_001);
    expect(await askFor(second, ASK)).toEqual(written(3));
  });

  test("is told as that old while the service gives no answer", async () => {
    let isAway = false;
    const service = await startExperiments(() =>
      isAway ? { json: { detail: "No." }, status: 503 } : undefined,
    );
    const { redis, first, second, advance } = await startPair(service, {
      CACHE_TTL_MS: "2000",
      STALE_MAX_AGE_MS: "60000",
    });
    await askFor(first, ASK);
    await kept(redis);
    advance(1_500);
    expect(await askFor(second, ASK)).toEqual(written(0));
    isAway = true;
    advance(8_500);
    expect(await askFor(second, ASK)).toMatchObject({
      extensions: { stale: [{ path: ["experiment"], ageSeconds: 10 }] },
    });
  });
});

describe.skipIf(!hasRedis)("what is kept for all processes", () => {
  test("outlasts a caller who leaves while one asks", async () => {
    const arrived = gate();
    let state: "up" | "silent" | "away" = "up";
    const service = await startExperiments(() => {
      if (state === "up") return undefined;
      if (state === "away") return { json: { detail: "No." }, status: 503 };
      arrived.open();
      return new Promise(() => {});
    });
    const { redis, first, second } = await startPair(service, {
      CACHE_TTL_MS: "0",
      STALE_MAX_AGE_MS: "60000",
    });
    await askFor(first, ASK);
    await kept(redis);
    state = "silent";
    const leaving = new AbortController();
    const left = fetch(`${first.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer t0ken" },
      body: JSON.stringify({ query: ASK }),
      signal: leaving.signal,
    });
    await arrived.opened;
    leaving.abort();
    await expect(left).rejects.toThrow("aborted");
    state = "away";
    await vi.waitUntil(async () => /upstream_requests_running 0/.test(await metrics(first.url)), PATIENT);
    expect(firstCodeOf(await askFor(second, ASK))).toBe("ok");
  });

  test("is told to nobody after a command of which Redis had refused to hear, once it hears of it", async () => {
    const service = await startExperiments();
    const { redis, first, second } = await startPair(service);
    await askFor(first, ASK);
    await kept(redis);
    await redis.sendCommand(["ACL", "SETUSER", "default", "-del"]);
    expect((await askFor(first, WRITE)).errors).toBeUndefined();
    await redis.sendCommand(["ACL", "SETUSER", "default", "+del"]);
    await vi.waitUntil(async () => isDeepStrictEqual(await askFor(second, ASK), written(1)), PATIENT);
  });

  test("was asked for with the same headers of every request", async () => {
    const service = await startExperiments();
    const { headers } = writeFiles({ headers: '{"x-tenant": "monday"}' });
    const { redis, first, second } = await startPair(service, { UPSTREAM_HEADERS_FILE: headers });
    await askFor(first, ASK);
    await kept(redis);
    service.state.writes = 5;
    writeFileSync(headers, '{"x-tenant": "tuesday"}');
    second.reload();
    expect(await askFor(second, ASK)).toEqual(written(5));
  });
});

const metrics = async (url: string) => (await fetch(`${url}/metrics`)).text();
