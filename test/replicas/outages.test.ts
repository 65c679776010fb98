import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { freePort } from "../support/free-port.ts";
import type { Gateway } from "../support/gateway.ts";
import { askFor, firstCodeOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import {
  connectTo,
  hasRedis,
  startAnswering,
  startFlooding,
  startMute,
  startRedis,
} from "../support/redis.ts";
import { connected, startExperiments, startReplicas, watch } from "../support/replicas.ts";

/** Everything that is shared, in two processes that do not wait for Redis for long. */
const ENV = {
  REDIS_TIMEOUT_MS: "100",
  REDIS_SHARED_READS: "on",
  CACHE_TTL_MS: "1000",
  UPSTREAM_RATE_LIMIT: "10000/60",
};

async function startPair(redisUrl: string) {
  const service = await startExperiments();
  const replicas = await startReplicas(2, redisUrl, { upstream: service, env: ENV });
  return { service, replicas };
}

const WRITE = `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "new" }) { experiment { id } } }`;

let asked = 0;

/** What each process answers to reads of records that none of them knows, a command and a subscription. */
async function serve(replicas: readonly Gateway[]): Promise<string[]> {
  const codes: string[] = [];
  for (const replica of replicas) {
    const ids = Array.from({ length: 20 }, () => ++asked);
    const fields = ids.map((id) => `of${id}: experiment(id: "ada.mnist.${id}") { uniqueName }`).join(" ");
    codes.push(
      firstCodeOf(await askFor(replica, `{ ${fields} }`)),
      firstCodeOf(await askFor(replica, WRITE)),
    );
    const tab = await watch(replica, ++asked);
    codes.push((await tab.next())?.data ? "event" : "none");
    tab.leave();
  }
  return codes;
}

const bulk = (text: string) => `$${text.length}\r\n${text}`;

const ALL = ["ok", "ok", "event", "ok", "ok", "event"];

const logged = (replicas: readonly Gateway[], cause: string) =>
  vi.waitUntil(() => replicas.every((each) => each.logged().includes(`"cause":"${cause}"`)), PATIENT);

describe.skipIf(!hasRedis)("processes that share by a Redis", () => {
  test("go on by themselves when it ends, and share again when it is back", async () => {
    const redis = await startRedis();
    const { replicas } = await startPair(redis.url);
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
    await redis.kill();
    expect(await serve(replicas)).toEqual(ALL);
    await logged(replicas, "ECONNREFUSED");
    expect(await serve(replicas)).toEqual(ALL);
    await startRedis({ port: redis.port });
    for (const replica of replicas)
      await vi.waitUntil(() => replica.logged().match(/connected to Redis/g)?.length === 2, PATIENT);
    expect(await serve(replicas)).toEqual(ALL);
    expect(await (await connectTo(redis.url)).keys("*")).not.toEqual([]);
  });

  test("go on by themselves when it hangs, after one wait", async () => {
    const redis = await startRedis();
    const { replicas } = await startPair(redis.url);
    await connected(replicas);
    redis.freeze();
    expect(await serve(replicas)).toEqual(ALL);
    await logged(replicas, "TIMEOUT");
  });

  test("go on by themselves when it is full", async () => {
    const redis = await startRedis({ options: ["--maxmemory 1mb", "--maxmemory-policy noeviction"] });
    const { service, replicas } = await startPair(redis.url);
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
    await logged(replicas, "OOM");
    expect(service.seen().length).toBeGreaterThanOrEqual(44);
  });

  test("start without it, and use it when it comes", async () => {
    const port = await freePort();
    const { replicas } = await startPair(`redis://127.0.0.1:${port}`);
    expect(await serve(replicas)).toEqual(ALL);
    await startRedis({ port });
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
  });

  test("do not wait for one that takes commands and answers none", async () => {
    const mute = await startMute();
    const { replicas } = await startPair(mute.url);
    expect(await serve(replicas)).toEqual(ALL);
  });

  test.each([
    ["OK", "+OK"],
    ["an error", "-ERR unknown command 'EVAL'"],
    ["a number", ":1"],
    ["nothing", "$-1"],
    ["an empty text", bulk("")],
    ["a response without a head", bulk("F")],
    ["a short response", bulk("Fepoch 1 text")],
    ["a long response", bulk(`Fepoch 1 ${"\u00ff".repeat(900_000)}`)],
    ["a turn without a time", bulk("Aepoch")],
    ["a turn", bulk("Aepoch 1")],
    ["too many requests", bulk("1000000000 0 0")],
    ["a negative wait", bulk("7 -1 0")],
    ["no request and no wait", bulk("0 0 0")],
    ["nonsense", bulk("nonsense")],
    ["a list", "*1\r\n$1\r\n1"],
    ["another protocol", "!"],
  ])("serve all when it answers %s", async (_, reply) => {
    const redis = await startAnswering(`${reply}\r\n`);
    const { replicas } = await startPair(redis.url);
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
  });

  test("wait for no turn of others for long", async () => {
    const redis = await startAnswering("$1\r\nW\r\n");
    const { replicas } = await startPair(redis.url);
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
  });

  test("need no more rights than the documentation tells", async () => {
    const redis = await startRedis();
    const admin = await connectTo(redis.url);
    const [, rules = ""] = /`(~rungraph:\* \+[^`]+)`/.exec(readFileSync("docs/operations.md", "utf8")) ?? [];
    await admin.sendCommand(["ACL", "SETUSER", "app", "reset", "on", ">secret", ...rules.split(" ")]);
    const { replicas } = await startPair(redis.url.replace("//", "//app:secret@"));
    await connected(replicas);
    expect(await serve(replicas)).toEqual(ALL);
    expect(replicas.map((each) => each.logged().match(/"cause":"[^"]+"/g))).toEqual([null, null]);
    expect((await admin.keys("*")).length).toBeGreaterThan(20);
  });

  test("end the connection to one that answers without an end", async () => {
    const flooding = await startFlooding("$200000000\r\n", 200_000_000);
    const { replicas } = await startPair(flooding.url);
    expect(await serve(replicas)).toEqual(ALL);
    await logged(replicas, "REPLY_TOO_LONG");
    await vi.waitUntil(() => flooding.flooded().length > 0, PATIENT);
    expect(Math.max(...flooding.flooded())).toBeLessThan(50_000_000);
  });
});
