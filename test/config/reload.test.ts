import { rmSync, writeFileSync } from "node:fs";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { connectAgent } from "../support/agent.ts";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import { experimentId, FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";
import { subscribe } from "../support/subscriber.ts";
import { makeAuthority, startProxy, startService, writeFiles } from "../support/tls.ts";

const VIEWER = "{ viewer { username } }";
const ADA = { data: { viewer: { username: "ada" } } };

interface Facts {
  readonly gateway: { readonly upstreamApiVersion: string };
}

const lastLine = (gateway: Gateway) =>
  JSON.parse(gateway.logged().trimEnd().split("\n").at(-1) ?? "") as object;

/** The metrics of reloads. */
async function reloadsOf({ url }: Gateway) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const valueOf = (name: string) =>
    Number(new RegExp(`^rungraph_config_last_reload_${name} (\\S+)$`, "m").exec(text)?.[1]);
  return { isSuccessful: valueOf("successful"), at: valueOf("success_timestamp_seconds") };
}

describe("a reload takes over", () => {
  test("headers: later operations send the new ones, and one in flight ends with what it began with", async () => {
    const arrived = gate();
    const answered = gate();
    const service = await startFake(async ({ path }) => {
      if (!path.includes("/experiments/7/"))
        return { json: { username: "ada", id: 3, unique_name: "ada.mnist.builds.3" } };
      arrived.open();
      await answered.opened;
      return { json: { id: 7, build_job: "ada.mnist.builds.3" } };
    });
    const { headers } = writeFiles({ headers: '{"x-api-key": "key-of-monday"}' });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_HEADERS_FILE: headers } });
    const early = gateway.ask(`{ experiment(id: "ada.mnist.7") { buildJob { uniqueName commit } } }`);
    await arrived.opened;
    writeFileSync(headers, '{"x-api-key": "key-of-tuesday"}\n');
    gateway.reload();
    expect(await gateway.ask(VIEWER)).toEqual(ADA);
    answered.open();
    expect(await early).toEqual({
      data: { experiment: { buildJob: { uniqueName: "ada.mnist.builds.3", commit: null } } },
    });
    expect(service.seen().map(({ path, headers: sent }) => `${path} ${sent["x-api-key"]}`)).toEqual([
      "/api/v1/ada/mnist/experiments/7/ key-of-monday",
      "/api/v1/users/ key-of-tuesday",
      "/api/v1/ada/mnist/builds/3/ key-of-monday",
    ]);
    expect(gateway.logged()).toContain(`"changed":["UPSTREAM_HEADERS"],"msg":"settings reloaded"`);
    expect(gateway.logged()).not.toContain("key-of");
  });

  test("headers: no error message contains the words of the new ones", async () => {
    const service = await startFake(() => ({ json: { detail: "bad key key-of-tuesday" }, status: 400 }));
    const { headers } = writeFiles({ headers: '{"x-api-key": "key-of-monday"}' });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_HEADERS_FILE: headers } });
    expect(JSON.stringify(await gateway.ask(VIEWER))).toContain("key-of-tuesday");
    writeFileSync(headers, '{"x-api-key": "key-of-tuesday"}');
    gateway.reload();
    expect(JSON.stringify(await gateway.ask(VIEWER))).not.toContain("key-of-tuesday");
  });

  test("certificates: the service sees the new one once its key is there, too", async () => {
    const authority = await makeAuthority();
    const service = await startService({
      ...(await authority.issue("localhost")),
      clientAuthority: authority.cert,
    });
    const files = writeFiles({ ca: authority.cert, ...(await authority.issue("gateway-1")) });
    const gateway = await startGateway({
      upstream: { url: service.localUrl },
      env: {
        UPSTREAM_URL: service.localUrl,
        UPSTREAM_CA_FILE: files.ca,
        UPSTREAM_CERT_FILE: files.cert,
        UPSTREAM_KEY_FILE: files.key,
      },
    });
    const clients = () => service.seen().map(({ client }) => client);
    expect(await gateway.ask(VIEWER)).toEqual(ADA);
    const next = await authority.issue("gateway-2");
    writeFileSync(files.cert, next.cert);
    gateway.reload();
    // The key does not belong to it yet.
    expect(lastLine(gateway)).toMatchObject({
      faults: [
        "UPSTREAM_KEY_FILE: expected the key of the first certificate in UPSTREAM_CERT_FILE, got another",
      ],
      msg: "settings not reloaded",
    });
    expect(await gateway.ask(VIEWER)).toEqual(ADA);
    writeFileSync(files.key, next.key);
    gateway.reload();
    expect(await gateway.ask(VIEWER)).toEqual(ADA);
    expect(clients()).toEqual(["gateway-1", "gateway-1", "gateway-2"]);
  });

  test("a proxy: later requests go through the new one, and one in flight completes through the old one", async () => {
    const arrived = gate();
    const answered = gate();
    const service = await startFake(async () => {
      arrived.open();
      if (service.seen().length === 1) await answered.opened;
      return { json: { username: "ada" } };
    });
    const port = Number(new URL(service.url).port);
    const proxies = [await startProxy({ port }), await startProxy({ port })] as const;
    const { url } = writeFiles({ url: proxies[0].url });
    const env = { UPSTREAM_URL: service.url, UPSTREAM_PROXY_FILE: url };
    const gateway = await startGateway({ upstream: service, env });
    const early = gateway.ask(VIEWER);
    await arrived.opened;
    writeFileSync(url, proxies[1].url);
    gateway.reload();
    // Another token, which shares nothing with the one in flight.
    expect(await gateway.ask(VIEWER, {}, { token: "other" })).toEqual(ADA);
    answered.open();
    expect(await early).toEqual(ADA);
    expect(await gateway.ask(VIEWER)).toEqual(ADA);
    expect(proxies.map((proxy) => proxy.lines().length)).toEqual([1, 1]);
    expect(service.seen()).toHaveLength(3);
  });

  test("authorities: a service with a certificate of a new one is trusted, and no longer one of the old", async () => {
    const [before, after] = [await makeAuthority(), await makeAuthority()];
    const service = await startService(await after.issue("localhost"));
    const { ca } = writeFiles({ ca: before.cert });
    const env = { UPSTREAM_URL: service.localUrl, UPSTREAM_CA_FILE: ca };
    const gateway = await startGateway({ upstream: { url: service.localUrl }, env });
    const codes = async () =>
      (await gateway.ask(VIEWER)).errors?.map(({ extensions }) => extensions["code"]) ?? [];
    expect(await codes()).toEqual(["UPSTREAM_UNAVAILABLE"]);
    writeFileSync(ca, after.cert);
    gateway.reload();
    expect(await codes()).toEqual([]);
    writeFileSync(ca, before.cert);
    gateway.reload();
    expect(await codes()).toEqual(["UPSTREAM_UNAVAILABLE"]);
    expect(service.seen()).toHaveLength(1);
  });

  test("trusted documents: new ones run, removed ones do not, and the tools of agents are theirs", async () => {
    const service = await startFake(() => ({ json: { username: "ada", is_superuser: true } }));
    const { manifest } = writeFiles({
      manifest: JSON.stringify({ a: "query Name { viewer { username } }" }),
    });
    const gateway = await startGateway({
      upstream: service,
      env: { TRUSTED_DOCUMENTS: manifest, MCP: "read" },
    });
    const run = async (documentId: string) => {
      const response = await fetch(`${gateway.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "token t0ken" },
        body: JSON.stringify({ documentId }),
      });
      const { data, errors } = (await response.json()) as Awaited<ReturnType<Gateway["ask"]>>;
      return errors?.[0]?.extensions["code"] ?? data;
    };
    const tools = async () => (await connectAgent(gateway, { token: "t0ken" })).names();
    expect([await run("a"), await run("b")]).toEqual([ADA.data, "PERSISTED_QUERY_NOT_IN_LIST"]);
    expect(await tools()).toEqual(["Name"]);
    writeFileSync(manifest, JSON.stringify({ b: "query Rights { viewer { isSuperuser } }" }));
    gateway.reload();
    expect([await run("a"), await run("b")]).toEqual([
      "PERSISTED_QUERY_NOT_IN_LIST",
      { viewer: { isSuperuser: true } },
    ]);
    expect(await tools()).toEqual(["Rights"]);
  });

  test("a profile: paths, scheme and facts are those of the new one, and nothing kept before is used", async () => {
    const service = await startFake(() => ({ json: { id: 7, last_status: "running" } }));
    const { "server.yaml": profile } = writeFiles({ "server.yaml": "extends: document\napiVersion: v7\n" });
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: profile, CACHE_TTL_MS: "3600000" },
    });
    const ask = () =>
      gateway.ask(`{ gateway { upstreamApiVersion } experiment(id: "ada.mnist.7") { status } }`);
    const answer = (upstreamApiVersion: string) => ({
      data: { gateway: { upstreamApiVersion }, experiment: { status: "RUNNING" } },
    });
    expect([await ask(), await ask()]).toEqual([answer("v7"), answer("v7")]);
    writeFileSync(profile, "extends: document\napiVersion: v8\nauthorization: { scheme: Bearer }\n");
    gateway.reload();
    expect([await ask(), await ask()]).toEqual([answer("v8"), answer("v8")]);
    writeFileSync(profile, "extends: document\napiVersion: v8\nbasePath: /api/v8\n");
    gateway.reload();
    expect(await ask()).toEqual(answer("v8"));
    expect(service.seen().map(({ path, headers }) => `${path} ${headers["authorization"]}`)).toEqual([
      "/api/v1/ada/mnist/experiments/7/ token t0ken",
      "/api/v1/ada/mnist/experiments/7/ Bearer t0ken",
      "/api/v8/ada/mnist/experiments/7/ token t0ken",
    ]);
  });

  test("a profile: what an operation of the old one reads is not kept for the new one", async () => {
    const arrived = gate();
    const answered = gate();
    const service = await startFake(async ({ path }) => {
      arrived.open();
      await answered.opened;
      return path.includes("/builds/")
        ? { json: { id: 3, commit: "c3" } }
        : { json: { id: 7, build_job: "ada.mnist.builds.3" } };
    });
    const { "server.yaml": profile } = writeFiles({ "server.yaml": "extends: document\n" });
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: profile, CACHE_TTL_MS: "3600000" },
    });
    const early = gateway.ask(`{ experiment(id: "ada.mnist.7") { buildJob { commit } } }`);
    await arrived.opened;
    writeFileSync(profile, "extends: document\nauthorization: { scheme: Bearer }\n");
    gateway.reload();
    answered.open();
    expect(await early).toEqual({ data: { experiment: { buildJob: { commit: "c3" } } } });
    const late = () => gateway.ask(`{ buildJob(id: "ada.mnist.builds.3") { commit } }`);
    const answer = { data: { buildJob: { commit: "c3" } } };
    expect([await late(), await late()]).toEqual([answer, answer]);
    expect(service.seen().map(({ path, headers }) => `${path} ${headers["authorization"]}`)).toEqual([
      "/api/v1/ada/mnist/experiments/7/ token t0ken",
      "/api/v1/ada/mnist/builds/3/ token t0ken",
      "/api/v1/ada/mnist/builds/3/ Bearer t0ken",
    ]);
  });

  test("a profile: subscriptions end so that clients subscribe again, and with new headers they go on", async () => {
    const { "server.yaml": profile, headers } = writeFiles({
      "server.yaml": "extends: document\n",
      headers: '{"x-api-key": "key-of-monday"}',
    });
    const live = await startLive([{ id: 1, last_status: "running" }], {
      env: { UPSTREAM_PROFILE: profile, UPSTREAM_HEADERS_FILE: headers },
    });
    const watcher = await live.watch(1);
    live.advance(FIRST_POLL);
    expect(await watcher.next()).toEqual(update(1, "RUNNING"));
    writeFileSync(headers, '{"x-api-key": "key-of-tuesday"}');
    live.reload();
    writeFileSync(profile, "extends: document\napiVersion: v8\n");
    live.reload();
    const frames = [];
    for (let frame = await watcher.frame(); frame; frame = await watcher.frame()) frames.push(frame.event);
    expect(frames).not.toContain("complete");
    const again = await subscribe(live.url, { query: RUN_UPDATED, variables: { id: experimentId(1) } });
    expect(again.status).toBe(200);
  });

  test("a profile: the client of a WebSocket connects again and goes on", async () => {
    const { "server.yaml": profile } = writeFiles({ "server.yaml": "extends: document\n" });
    const run = { id: 1, last_status: "running" };
    const live = await startLive([run], { env: { UPSTREAM_PROFILE: profile } });
    const codes: unknown[] = [];
    const client = createClient({
      url: `${live.url.replace("http:", "ws:")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: "token t0ken" },
      retryWait: async () => {},
      // Safe: the event of `ws` has a code.
      on: { closed: (event) => codes.push((event as { code: number }).code) },
    });
    onTestFinished(() => void client.dispose());
    const results = client.iterate({ query: RUN_UPDATED, variables: { id: experimentId(1) } });
    const first = results.next();
    await live.subscriptions(1);
    live.advance(FIRST_POLL);
    expect(await first).toEqual({ done: false, value: update(1, "RUNNING") });
    writeFileSync(profile, "extends: document\nauthorization: { scheme: Bearer }\n");
    live.reload();
    run.last_status = "succeeded";
    const next = results.next();
    // The first poll of the new subscription.
    await live.reach(2 * FIRST_POLL);
    expect(await next).toEqual({ done: false, value: update(1, "SUCCEEDED", null, true) });
    expect(codes).toEqual([1001]);
    expect(live.seen().map(({ headers }) => headers["authorization"])).toEqual([
      "token t0ken",
      "Bearer t0ken",
    ]);
  });
});

describe("a file that cannot be used", () => {
  test("changes nothing, is told without its content, and is counted", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { headers, "server.yaml": profile } = writeFiles({
      headers: '{"x-api-key": "key-of-monday"}',
      "server.yaml": "extends: document\napiVersion: v7\n",
    });
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_HEADERS_FILE: headers, UPSTREAM_PROFILE: profile },
    });
    const before = await reloadsOf(gateway);
    expect(before).toMatchObject({ isSuccessful: 1 });
    expect(Math.abs(before.at - Date.now() / 1_000)).toBeLessThan(3_600);
    writeFileSync(headers, "canary");
    rmSync(profile);
    gateway.reload();
    expect(lastLine(gateway)).toMatchObject({
      level: 50,
      faults: [
        expect.stringMatching(
          /^UPSTREAM_PROFILE: expected document, .* the path of a .yaml or .json file that can be read$/,
        ),
        "UPSTREAM_HEADERS_FILE: expected a JSON object of header names and values",
      ],
      msg: "settings not reloaded",
    });
    expect(await reloadsOf(gateway)).toEqual({ ...before, isSuccessful: 0 });
    expect(await gateway.ask("{ gateway { upstreamApiVersion } viewer { username } }")).toEqual({
      data: { gateway: { upstreamApiVersion: "v7" }, ...ADA.data },
    });
    expect(service.seen().map((request) => request.headers["x-api-key"])).toEqual(["key-of-monday"]);
    // One of two is repaired: both are taken, or none.
    writeFileSync(headers, '{"x-api-key": "key-of-tuesday"}');
    gateway.reload();
    await gateway.ask(VIEWER);
    writeFileSync(profile, "extends: document\napiVersion: v8\n");
    gateway.reload();
    await gateway.ask(VIEWER);
    expect(service.seen().map((request) => request.headers["x-api-key"])).toEqual([
      "key-of-monday",
      "key-of-monday",
      "key-of-tuesday",
    ]);
    const after = await reloadsOf(gateway);
    expect(after).toMatchObject({ isSuccessful: 1 });
    expect(after.at).toBeGreaterThanOrEqual(before.at);
    expect(gateway.logged()).not.toContain("canary");
  });

  test("is told once when only a restart would take it over", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { url } = writeFiles({ url: "redis://redis.invalid:6379" });
    const gateway = await startGateway({ upstream: service, env: { REDIS_URL_FILE: url } });
    writeFileSync(url, "redis://other.invalid:6379");
    for (const _ of [1, 2]) gateway.reload();
    const lines = gateway
      .logged()
      .split("\n")
      .filter((line) => line.includes("restart"));
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        level: 40,
        changed: ["REDIS_URL"],
        msg: "settings that need a restart have changed",
      }),
    ]);
  });
});

test("a file is read again once it has stayed the same from one look to the next", async () => {
  const service = await startFake(() => ({ json: { username: "ada" } }));
  const { "server.yaml": profile } = writeFiles({ "server.yaml": "extends: document\napiVersion: v7\n" });
  const { clock, advance } = handClock();
  const gateway = await startGateway({
    upstream: service,
    clock,
    env: { UPSTREAM_PROFILE: profile, RELOAD_INTERVAL_MS: "5000" },
  });
  const seen: unknown[] = [];
  const look = async () => {
    advance(5_000);
    seen.push(
      ((await gateway.ask("{ gateway { upstreamApiVersion } }")).data as Facts).gateway.upstreamApiVersion,
    );
  };
  await look();
  // Half of it can be used, too, and is not what is meant.
  writeFileSync(profile, "extends: document\napiVersion: v");
  await look();
  writeFileSync(profile, "extends: document\napiVersion: v8\n");
  await look();
  await look();
  // Away for a moment.
  rmSync(profile);
  await look();
  writeFileSync(profile, "extends: document\napiVersion: v9\n");
  await look();
  await look();
  await look();
  expect(seen).toEqual(["v7", "v7", "v7", "v8", "v8", "v8", "v9", "v9"]);
  const reloads = gateway.logged().match(/"msg":"settings .*?reloaded"/g);
  expect(reloads).toEqual(Array.from({ length: 2 }, () => `"msg":"settings reloaded"`));
});

test("what is counted and known of callers outlasts a reload", async () => {
  const service = await startFake(() => ({ json: { username: "ada" } }));
  const { headers } = writeFiles({ headers: '{"x-api-key": "1"}' });
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_HEADERS_FILE: headers } });
  const countOf = async () =>
    /^rungraph_operations_total\{type="query",code="OK"\} (\d+)$/m.exec(
      await (await fetch(`${gateway.url}/metrics`)).text(),
    )?.[1];
  await gateway.ask(VIEWER);
  writeFileSync(headers, '{"x-api-key": "2"}');
  gateway.reload();
  await gateway.ask(VIEWER);
  expect(await countOf()).toBe("2");
});
