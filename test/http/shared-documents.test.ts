import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { startRecords } from "../support/fake.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { portIn } from "../support/listen.ts";
import { PATIENT } from "../support/patience.ts";
import { connectTo, hasRedis, startFlooding, startMute, startRedis } from "../support/redis.ts";
import { startCounter } from "../support/silent-ports.ts";
import { subscribe } from "../support/subscriber.ts";
import { makeAuthority, writeFiles } from "../support/tls.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const persisted = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: sha256(text) } });

const QUERY = `{ job(id: "ada.mnist.jobs.2") { rawStatus } }`;
const ANSWER = { data: { job: { rawStatus: "running" } } };
const READ = "GET ada/mnist/jobs/2/";
const NOT_FOUND = {
  errors: [
    {
      message: "PersistedQueryNotFound",
      extensions: { code: "PERSISTED_QUERY_NOT_FOUND", requestId: expect.any(String) },
    },
  ],
};

const DAY_SECONDS = 86_400;

const startService = () => startRecords({ "ada/mnist/jobs/2/": { id: 2, last_status: "running" } });

/** A replica in front of a service. */
async function startReplica(upstream: { readonly url: string }, env: Record<string, string>) {
  const gateway = await startGateway({ upstream, env });
  const post = async (body: object): Promise<unknown> => {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "token t0ken" },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  return {
    ...gateway,
    /** Sends the hash of a document. */
    sendHash: (text = QUERY) => post({ extensions: persisted(text) }),
    /** Sends a document with its hash. */
    sendDocument: (query = QUERY) => post({ query, extensions: persisted(query) }),
  };
}

/** What became of documents in Redis, by outcome. */
async function outcomesOf({ url }: Pick<Gateway, "url">): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const samples = text.matchAll(/^rungraph_shared_documents_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, outcome, count]) => [outcome, Number(count)]));
}

const stored = (gateway: Gateway, count = 1) =>
  vi.waitUntil(async () => (await outcomesOf(gateway))["stored"] === count, PATIENT);

/** Waits for a line with this cause. */
const logged = (gateway: Gateway, cause: string) =>
  vi.waitUntil(() => new RegExp(`"cause":"${cause}"`).test(gateway.logged()), PATIENT);

describe.skipIf(!hasRedis)("replicas with a Redis", () => {
  test("know a document that one of them learned, and ask Redis for it once", async () => {
    const service = await startService();
    const { url } = await startRedis();
    const [first, second] = [
      await startReplica(service, { REDIS_URL: url }),
      await startReplica(service, { REDIS_URL: url }),
    ];
    expect(await first.sendHash()).toEqual(NOT_FOUND);
    expect(await first.sendDocument()).toEqual(ANSWER);
    await stored(first);
    expect(await second.sendHash()).toEqual(ANSWER);
    expect(await second.sendHash()).toEqual(ANSWER);
    expect(await first.sendDocument()).toEqual(ANSWER);
    expect(service.calls()).toEqual([READ, READ, READ, READ]);
    expect(await outcomesOf(first)).toEqual({ missing: 1, stored: 1 });
    expect(await outcomesOf(second)).toEqual({ found: 1 });
  });

  test("keep it there for 30 days after it was last sent or found", async () => {
    const service = await startService();
    const { url } = await startRedis();
    const redis = await connectTo(url);
    const first = await startReplica(service, { REDIS_URL: url });
    await first.sendDocument();
    await stored(first);
    const key = `rungraph:document:${sha256(QUERY)}`;
    expect(await redis.keys("*")).toEqual([key]);
    expect(await redis.get(key)).toBe(QUERY);
    expect(await redis.ttl(key)).toBeGreaterThan(29 * DAY_SECONDS);
    await redis.expire(key, DAY_SECONDS);
    const second = await startReplica(service, { REDIS_URL: url });
    expect(await second.sendHash()).toEqual(ANSWER);
    await vi.waitUntil(async () => (await redis.ttl(key)) > 29 * DAY_SECONDS, PATIENT);
  });

  test("know it by GET and for subscriptions, too", async () => {
    const service = await startService();
    const { url } = await startRedis();
    const [first, second, third] = [
      await startReplica(service, { REDIS_URL: url }),
      await startReplica(service, { REDIS_URL: url }),
      await startReplica(service, { REDIS_URL: url }),
    ];
    await first.sendDocument();
    const subscription = `subscription { runUpdated(id: "${globalId("Job:ada/mnist/2")}") { run { rawStatus } } }`;
    await first.sendDocument(subscription);
    await stored(first, 2);
    const search = new URLSearchParams({ extensions: JSON.stringify(persisted(QUERY)) });
    const got = await fetch(`${second.url}/graphql?${search}`, { headers: { authorization: "token t0ken" } });
    expect(await got.json()).toEqual(ANSWER);
    const { next, leave } = await subscribe(third.url, { extensions: persisted(subscription) });
    expect(await next()).toEqual({ data: { runUpdated: { run: { rawStatus: "running" } } } });
    leave();
    expect(await outcomesOf(third)).toEqual({ found: 1 });
  });

  test("go on without it when it ends, each with its own documents, and share them again when it is back", async () => {
    const service = await startService();
    const redis = await startRedis();
    const env = { REDIS_URL: redis.url };
    const [first, second] = [await startReplica(service, env), await startReplica(service, env)];
    await first.sendDocument();
    await stored(first);
    await second.sendHash();

    await redis.kill();
    await logged(first, "ECONNREFUSED");
    await logged(second, "ECONNREFUSED");
    const other = `query Other ${QUERY}`;
    expect(await first.sendDocument(other)).toEqual(ANSWER);
    expect(await first.sendHash(other)).toEqual(ANSWER);
    expect(await second.sendHash()).toEqual(ANSWER);
    expect(await second.sendHash(other)).toEqual(NOT_FOUND);
    expect(await outcomesOf(second)).toEqual({ found: 1, failed: 1 });
    expect(first.logged() + second.logged()).not.toMatch(portIn(`redis://127.0.0.1:${redis.port}`));

    await startRedis({ port: redis.port });
    for (const replica of [first, second])
      await vi.waitUntil(() => replica.logged().match(/connected to Redis/g)?.length === 2, PATIENT);
    expect(await first.sendDocument(other)).toEqual(ANSWER);
    await stored(first, 2);
    expect(await second.sendHash(other)).toEqual(ANSWER);
  });

  test("do not wait for it when it does not answer", async () => {
    const service = await startService();
    const redis = await startRedis();
    const replica = await startReplica(service, { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: "100" });
    await vi.waitUntil(() => replica.logged().includes("connected to Redis"), PATIENT);
    redis.freeze();
    for (const _ of [1, 2, 3]) expect(await replica.sendHash()).toEqual(NOT_FOUND);
    expect(await replica.sendDocument()).toEqual(ANSWER);
    expect(await replica.sendHash()).toEqual(ANSWER);
    expect(await outcomesOf(replica)).toEqual({ failed: 3 });
    await logged(replica, "TIMEOUT");
  });

  test("believe it no document that its hash does not fit, or that is longer than a body may be", async () => {
    const service = await startService();
    const { url } = await startRedis();
    const redis = await connectTo(url);
    const key = `rungraph:document:${sha256(QUERY)}`;
    await redis.set(key, "{ viewer { username } }");
    const env = { REDIS_URL: url, MAX_BODY_BYTES: "400" };
    const [first, second] = [await startReplica(service, env), await startReplica(service, env)];
    expect(await first.sendHash()).toEqual(NOT_FOUND);
    await logged(first, "HASH_MISMATCH");
    expect(await first.sendDocument()).toEqual(ANSWER);
    await stored(first);
    expect(await second.sendHash()).toEqual(ANSWER);

    const long = `${QUERY} # ${"-".repeat(400)}`;
    await redis.set(`rungraph:document:${sha256(long)}`, long);
    expect(await second.sendHash(long)).toEqual(NOT_FOUND);
    await redis.hSet(`rungraph:document:${sha256("hash")}`, "of", "another type");
    expect(await second.sendHash("hash")).toEqual(NOT_FOUND);
    await logged(second, "WRONGTYPE");
    expect(await outcomesOf(second)).toEqual({ found: 1, invalid: 1, failed: 1 });
    expect(service.calls()).toEqual([READ, READ]);
  });

  test("are told nothing of a key that is no hash", async () => {
    const service = await startService();
    const { url } = await startRedis();
    const replica = await startReplica(service, { REDIS_URL: url });
    const redis = await connectTo(url);
    await redis.set("rungraph:document:secret", QUERY);
    for (const sha256Hash of ["secret", sha256(QUERY).toUpperCase(), `${sha256(QUERY)}\n`, ""]) {
      const response = await fetch(`${replica.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ extensions: { persistedQuery: { version: 1, sha256Hash } } }),
      });
      expect(await response.json()).toEqual(NOT_FOUND);
    }
    expect(await outcomesOf(replica)).toEqual({});
  });

  test("sign in with a password, which no log line has, and keep apart under other prefixes and numbers", async () => {
    const service = await startService();
    const { port } = await startRedis({ options: ["--requirepass canary-right"] });
    const at = (password: string, database: number, prefix = "rungraph:") =>
      startReplica(service, {
        REDIS_URL: `redis://:${password}@127.0.0.1:${port}/${database}`,
        REDIS_PREFIX: prefix,
      });
    const first = await at("canary-right", 3);
    await first.sendDocument();
    await stored(first);
    expect(await (await at("canary-right", 3)).sendHash()).toEqual(ANSWER);
    expect(await (await at("canary-right", 4)).sendHash()).toEqual(NOT_FOUND);
    expect(await (await at("canary-right", 3, "other:")).sendHash()).toEqual(NOT_FOUND);

    const stranger = await at("canary-wrong", 3);
    await logged(stranger, "WRONGPASS");
    expect(await stranger.sendHash()).toEqual(NOT_FOUND);
    expect(await stranger.sendDocument()).toEqual(ANSWER);
    expect(first.logged() + stranger.logged()).not.toMatch(/canary|127\.0\.0\.1/);
  });

  test("connect by TLS, and only to a certificate of the authority that is told", async () => {
    const service = await startService();
    const authority = await makeAuthority();
    const files = writeFiles({ ...(await authority.issue("localhost")), ca: authority.cert });
    const { port } = await startRedis({
      portOption: "--tls-port",
      options: [
        "--port 0",
        "--tls-auth-clients no",
        `--tls-ca-cert-file ${files.ca}`,
        `--tls-cert-file ${files.cert}`,
        `--tls-key-file ${files.key}`,
      ],
    });
    const url = `rediss://localhost:${port}`;
    const env = { REDIS_URL: url, REDIS_CA_FILE: files.ca };
    const [first, second] = [await startReplica(service, env), await startReplica(service, env)];
    await first.sendDocument();
    await stored(first);
    expect(await second.sendHash()).toEqual(ANSWER);
    const distrustful = await startReplica(service, { REDIS_URL: url });
    // Which code it is depends on the OpenSSL of Node.
    await logged(distrustful, "[A-Z_]*(?:CERT|SIGNATURE)[A-Z_]*");
    expect(await distrustful.sendHash()).toEqual(NOT_FOUND);
  });
});

test("a replica starts with a Redis that never answers, and answers itself", async () => {
  const service = await startService();
  const silence = await startCounter();
  const replica = await startReplica(service, {
    REDIS_URL: `redis://127.0.0.1:${silence.port}`,
    REDIS_TIMEOUT_MS: "50",
  });
  expect(await replica.sendHash()).toEqual(NOT_FOUND);
  expect(await replica.sendDocument()).toEqual(ANSWER);
  expect(await replica.sendHash()).toEqual(ANSWER);
  expect(silence.connections()).toBe(1);
});

test("a Redis that took too long is not asked for a moment", async () => {
  const service = await startService();
  const redis = await startMute();
  const replica = await startReplica(service, { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: "100" });
  await vi.waitUntil(() => replica.logged().includes("connected to Redis"), PATIENT);
  for (const _ of [1, 2, 3]) expect(await replica.sendHash()).toEqual(NOT_FOUND);
  expect(await replica.sendDocument()).toEqual(ANSWER);
  expect(redis.commands()).toEqual([`GETRANGE rungraph:document:${sha256(QUERY)} 0 256000`]);
});

test("a Redis that takes no documents is offered no further ones for a moment", async () => {
  const service = await startService();
  const redis = await startMute();
  const replica = await startReplica(service, { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: "50" });
  await vi.waitUntil(() => replica.logged().includes("connected to Redis"), PATIENT);
  expect(await replica.sendDocument()).toEqual(ANSWER);
  await logged(replica, "TIMEOUT");
  expect(await replica.sendDocument(`query Other ${QUERY}`)).toEqual(ANSWER);
  expect(redis.commands()).toEqual([expect.stringMatching(/^SET rungraph:document:/)]);
  expect(await outcomesOf(replica)).toEqual({ failed: 1 });
});

test.each([
  ["a text", "$209715200\r\n"],
  ["a line", "+"],
  ["an error", "-ERR "],
])("no more is taken from Redis than a document may be long: %s of 200 MB", async (_, head) => {
  const service = await startService();
  const redis = await startFlooding(head, 200_000_000);
  const replica = await startReplica(service, { REDIS_URL: redis.url });
  for (const lies of [1, 2]) {
    await vi.waitUntil(() => replica.logged().split("connected to Redis").length > lies, PATIENT);
    expect(await replica.sendHash()).toEqual(NOT_FOUND);
    await logged(replica, "REPLY_TOO_LONG");
  }
  await vi.waitUntil(() => redis.flooded().length === 2, PATIENT);
  // What the network takes in advance is not the gateway's.
  for (const bytes of redis.flooded()) expect(bytes).toBeLessThan(50_000_000);
  expect(await replica.sendDocument()).toEqual(ANSWER);
});

test("with trusted documents no document is shared", async () => {
  const service = await startService();
  const redis = await startMute();
  const { manifest } = writeFiles({ manifest: JSON.stringify({ [sha256(QUERY)]: QUERY }) });
  const trusting = await startReplica(service, {
    REDIS_URL: redis.url,
    TRUSTED_DOCUMENTS: manifest,
  });
  expect(await trusting.sendHash()).toEqual(ANSWER);
  expect(await trusting.sendHash("{ __typename }")).toMatchObject({
    errors: [{ extensions: { code: "PERSISTED_QUERY_NOT_IN_LIST" } }],
  });
  expect(redis.commands()).toEqual([]);
});
