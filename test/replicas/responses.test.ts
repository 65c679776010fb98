import { describe, expect, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { ASK, kept, startPairFor, WRITE, written } from "../support/kept-responses.ts";
import type { Gateway } from "../support/gateway.ts";
import { askFor, firstCodeOf, STATUS_CALL } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { type connectTo, hasRedis } from "../support/redis.ts";
import { responsesOf, startExperiments } from "../support/replicas.ts";

const startPair = async () => startPairFor(await startExperiments());

/** Two processes that answer by what was kept for a minute while the service refuses to answer. */
async function startStale(env: Record<string, string>) {
  let isAway = false;
  const service = await startExperiments((_, method) =>
    isAway && method === "GET" ? { json: { detail: "No." }, status: 503 } : undefined,
  );
  const pair = await startPairFor(service, { STALE_MAX_AGE_MS: "60000", ...env });
  return { ...pair, goAway: () => (isAway = true) };
}

const reads = (service: Awaited<ReturnType<typeof startExperiments>>) =>
  service.calls().filter((call) => call === STATUS_CALL).length;

describe.skipIf(!hasRedis)("with REDIS_SHARED_READS", () => {
  test("a process answers by what another one has kept, as long as CACHE_TTL_MS says", async () => {
    const { service, redis, first, second, advance } = await startPair();
    expect(await askFor(first, ASK)).toEqual(written(0));
    await kept(redis);
    expect(await askFor(second, ASK)).toEqual(written(0));
    expect(await askFor(second, ASK)).toEqual(written(0));
    expect(service.calls()).toEqual([STATUS_CALL]);
    expect(await responsesOf(second)).toEqual({ "operation found": 1 });
    advance(60_001);
    await askFor(second, ASK);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("a process waits for another one that is asking", async () => {
    const answers = gate();
    const service = await startExperiments(async () => {
      await answers.opened;
      return undefined;
    });
    const { first, second } = await startPairFor(service);
    const asked = askFor(first, ASK);
    await vi.waitUntil(() => service.seen().length === 1, PATIENT);
    const waited = askFor(second, ASK);
    await vi.waitUntil(async () => (await responsesOf(first))["operation missing"] === 1, PATIENT);
    answers.open();
    expect(await Promise.all([asked, waited])).toEqual([written(0), written(0)]);
  });

  test("nothing that was read before a command is told after it, by any process", async () => {
    const { service, redis, first, second } = await startPair();
    for (let times = 0; times < 20; times++) {
      expect(await askFor(second, ASK)).toEqual(written(times));
      await kept(redis);
      expect(await askFor(first, ASK)).toEqual(written(times));
      expect((await askFor(first, WRITE)).errors).toBeUndefined();
      expect(await askFor(second, ASK)).toEqual(written(times + 1));
    }
    expect(reads(service)).toBeLessThanOrEqual(41);
  });

  test("a read that began before the command of another process does not answer one that begins after it", async () => {
    const answers = gate();
    let writes = 0;
    let isHeld = true;
    const service = await startFake(async ({ method }) => {
      const json = { id: 42, description: `written ${method === "GET" ? writes : ++writes} times` };
      if (method === "GET" && isHeld) {
        isHeld = false;
        await answers.opened;
      }
      return { json };
    });
    const { first, second, redis } = await startPairFor(service);
    const before = askFor(second, ASK);
    await vi.waitUntil(() => service.seen().length === 1, PATIENT);
    expect((await askFor(first, WRITE)).errors).toBeUndefined();
    expect(await askFor(second, ASK)).toEqual(written(1));
    answers.open();
    expect(await before).toEqual(written(0));
    await kept(redis);
    for (const replica of [first, second]) expect(await askFor(replica, ASK)).toEqual(written(1));
  });

  test.each(["another", "t0ken2", ""])("another token is told nothing: %j", async (token) => {
    const { service, redis, first, second } = await startPair();
    await askFor(first, ASK);
    await kept(redis);
    await askFor(second, ASK, token || "T0ken");
    expect(service.calls()).toHaveLength(2);
    expect((await responsesOf(second))["operation found"]).toBeUndefined();
  });

  test("an answer that the service refuses is not shared, nor one after the token was rejected", async () => {
    let status = 401;
    const service = await startExperiments(() =>
      status === 200 ? undefined : { json: { detail: "Invalid token." }, status },
    );
    const { redis, first, second } = await startPairFor(service);
    for (const each of [401, 403, 404, 500]) {
      status = each;
      for (const replica of [first, second]) await askFor(replica, ASK);
      expect(await redis.keys("rungraph:response:*")).toEqual([]);
    }
    expect(service.seen()).toHaveLength(8);
    status = 200;
    await askFor(first, ASK);
    await kept(redis);
    status = 401;
    expect((await first.ask(ASK, {}, { headers: { "cache-control": "no-cache" } })).errors).toHaveLength(1);
    expect((await askFor(second, ASK)).errors).toHaveLength(1);
  });

  test("a fresh answer is asked for, whatever is kept", async () => {
    const { service, redis, first, second } = await startPair();
    await askFor(first, ASK);
    await kept(redis);
    service.state.writes = 5;
    expect(await second.ask(ASK, {}, { headers: { "cache-control": "no-cache" } })).toEqual(written(5));
  });

  test.each<[string, (value: Buffer) => Buffer]>([
    ["its last bit", (value) => flip(value, value.length - 1)],
    ["a bit of its text", (value) => flip(value, value.length - 20)],
    ["a bit of its head", (value) => flip(value, 3)],
    ["its end", (value) => value.subarray(0, -1)],
    ["all but its head", (value) => value.subarray(0, 40)],
    ["all of it", () => Buffer.from("")],
    ["its length", (value) => Buffer.concat([value, value])],
    ["it for two megabytes", (value) => Buffer.concat([value, Buffer.alloc(2_000_000)])],
    ["its time", laterBy(30_000)],
  ])("what was kept is not believed when Redis changes %s", async (_, change) => {
    const { service, redis, first, second } = await startPair();
    await askFor(first, ASK);
    await kept(redis);
    const [name = ""] = await redis.keys("rungraph:response:*");
    await redis.set(name, change(await readBytes(redis, name)));
    service.state.writes = 7;
    expect(await askFor(second, ASK)).toEqual(written(7));
    expect((await responsesOf(second))["operation found"]).toBeUndefined();
  });

  test("what was kept of one record does not answer for another one", async () => {
    const { redis, first, second } = await startPair();
    await askFor(first, ASK);
    await kept(redis);
    const [name = ""] = await redis.keys("rungraph:response:*");
    const value = await readBytes(redis, name);
    const other = `{ experiment(id: "ada.mnist.43") { uniqueName } }`;
    await askFor(first, other);
    await vi.waitUntil(async () => (await redis.keys("rungraph:response:*")).length === 2, PATIENT);
    const names = await redis.keys("rungraph:response:*");
    await redis.set(names.find((each) => each !== name) ?? "", value);
    expect(await askFor(second, other)).toEqual({ data: { experiment: { uniqueName: "ada.mnist.43" } } });
    expect(await responsesOf(second)).toEqual({ "operation invalid": 1 });
  });

  test.each(["0", "1000"])(
    "a process answers by what another one has kept while the service gives no answer, with CACHE_TTL_MS=%s",
    async (ttl) => {
      const { redis, first, second, advance, goAway } = await startStale({ CACHE_TTL_MS: ttl });
      await askFor(first, ASK);
      await kept(redis);
      goAway();
      advance(5_001);
      const stale = { extensions: { stale: [{ path: ["experiment"], ageSeconds: 6 }] } };
      expect(await askFor(second, ASK)).toEqual({ ...written(0), ...stale });
      expect(await askFor(first, ASK)).toEqual({ ...written(0), ...stale });
      advance(55_000);
      for (const replica of [first, second])
        expect(firstCodeOf(await askFor(replica, ASK))).toBe("UPSTREAM_UNAVAILABLE");
    },
  );

  test("not even while the service gives no answer is anything told that was read before a command", async () => {
    const { redis, first, second, advance, goAway } = await startStale({ CACHE_TTL_MS: "1000" });
    for (const replica of [first, second]) await askFor(replica, ASK);
    await kept(redis);
    goAway();
    await askFor(first, WRITE);
    advance(1_000);
    for (const replica of [first, second])
      expect(firstCodeOf(await askFor(replica, ASK))).toBe("UPSTREAM_UNAVAILABLE");
  });

  test("a response that says something else ends what was kept", async () => {
    const statuses = [200, 404, 503];
    const service = await startFake(() => ({
      json: { id: 42, description: "" },
      status: statuses.shift() ?? 503,
    }));
    const env = { CACHE_TTL_MS: "0", STALE_MAX_AGE_MS: "60000" };
    const { redis, first, second } = await startPairFor(service, env);
    expect(firstCodeOf(await askFor(first, ASK))).toBe("ok");
    await kept(redis);
    expect(firstCodeOf(await askFor(first, ASK))).toBe("NOT_FOUND");
    expect(firstCodeOf(await askFor(second, ASK))).toBe("UPSTREAM_UNAVAILABLE");
  });

  test("explain tells that no request was sent", async () => {
    const { redis, first, second } = await startPairFor(await startExperiments(), { EXPLAIN: "on" });
    await askFor(first, ASK);
    await kept(redis);
    expect(await second.ask(ASK, {}, { headers: { "x-rungraph-explain": "1" } })).toMatchObject({
      extensions: { explain: { reads: { request: 0, cache: 1 }, requests: [] } },
    });
  });

  test("20,000 responses of 200 tokens reach only those tokens, and Redis cannot read them", async () => {
    const secrets = new Set<string>();
    const service = await startExperiments((authorization) => {
      const token = authorization.replace("token ", "");
      return {
        json: {
          id: 42,
          unique_name: "ada.mnist.42",
          last_status: "running",
          description: `seen by ${token}`,
        },
      };
    });
    const { redis, first, second } = await startPairFor(service);
    const wrong: unknown[] = [];
    const each = async (gateway: Gateway, token: string, ids: readonly number[]) => {
      const fields = ids.map((id) => `of${id}: experiment(id: "ada.mnist.${id}") { description }`).join(" ");
      const { data } = (await askFor(gateway, `{ ${fields} }`, token)) as {
        data: Record<string, { description: string }>;
      };
      for (const { description } of Object.values(data))
        if (description !== `seen by ${token}`) wrong.push(description);
    };
    const ids = Array.from({ length: 50 }, (_, id) => id + 1);
    for (let user = 0; user < 200; user++) {
      const token = `secret-token-${user}`;
      secrets.add(token);
      await each(first, token, ids);
      await each(second, token, ids);
    }
    expect(wrong).toEqual([]);
    const { "operation found": found = 0 } = await responsesOf(second);
    // All but those that were not stored yet.
    expect(found).toBeGreaterThan(9_000);
    expect(service.seen().length + found).toBe(20_000);
    const names = await redis.keys("*");
    expect(names.length).toBeGreaterThan(9_000);
    const words = [
      "secret",
      "token-1",
      "ada",
      "mnist",
      "seen by",
      "experiments",
      "running",
      "last_status",
      "description",
    ];
    for (const name of names) {
      const value =
        (await redis.type(name)) === "string" ? (await readBytes(redis, name)).toString("latin1") : "";
      // Names and epochs are random letters, in which short words occur by chance.
      const readable = `${name.replace(/:[\w-]{43}$/, ":")} ${value}`;
      for (const word of words) if (word.length > 4 && readable.includes(word)) wrong.push([word, name]);
    }
    expect(wrong).toEqual([]);
  });
});

/** The bytes of a value. */
const readBytes = async (redis: Awaited<ReturnType<typeof connectTo>>, name: string): Promise<Buffer> =>
  Buffer.from((await redis.sendCommand<string>(["EVAL", READ_HEX, "1", name])) as string, "hex");

const READ_HEX = `return (redis.call('GET', KEYS[1]):gsub('.', function (byte) return string.format('%02x', byte:byte()) end))`;

/** Lets a value claim that it was asked for later. */
function laterBy(ms: number) {
  return (value: Buffer): Buffer => {
    const text = value.toString("latin1");
    return Buffer.from(
      text.replace(/ (\d+) /, (_, began) => ` ${Number(began) + ms} `),
      "latin1",
    );
  };
}

function flip(value: Buffer, at: number): Buffer {
  const changed = Buffer.from(value);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}
