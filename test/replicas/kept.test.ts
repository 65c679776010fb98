import { isDeepStrictEqual } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { gate } from "../support/gate.ts";
import { ASK, kept, startPairFor, WRITE, written } from "../support/kept-responses.ts";
import { askFor, firstCodeOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { hasRedis } from "../support/redis.ts";
import { startExperiments } from "../support/replicas.ts";

describe.skipIf(!hasRedis)("what one process keeps of what another one has got", () => {
  test("is no older than CACHE_TTL_MS says", async () => {
    const service = await startExperiments();
    const { redis, first, second, advance } = await startPairFor(service);
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
    const { redis, first, second, advance } = await startPairFor(service, {
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
    const { redis, first, second } = await startPairFor(service, {
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
    const { redis, first, second } = await startPairFor(service);
    await askFor(first, ASK);
    await kept(redis);
    await redis.sendCommand(["ACL", "SETUSER", "default", "-del"]);
    expect((await askFor(first, WRITE)).errors).toBeUndefined();
    await redis.sendCommand(["ACL", "SETUSER", "default", "+del"]);
    await vi.waitUntil(async () => isDeepStrictEqual(await askFor(second, ASK), written(1)), PATIENT);
  });
});

const metrics = async (url: string) => (await fetch(`${url}/metrics`)).text();
