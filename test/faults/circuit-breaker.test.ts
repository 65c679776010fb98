import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { BREAKER, BROKEN, counted, delayAll, inSequence, startBreakable, TEN_CALLERS } from "./breakable.ts";
import type { Fault, Trouble } from "../support/fault-server.ts";
import { hang, reset, respondWith } from "./faults.ts";
import { metricOf, reaches } from "../support/metrics.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { OUTPUTS_OF_42, statusesOf, statusOf, upTo } from "../support/one-read.ts";
import { LONG_TIMEOUT, withDeadline } from "../support/long-timeout.ts";
import { begin } from "../support/readers.ts";
import { startSilent } from "./silent-ports.ts";

const startOfTen = (env: Record<string, string> = {}) => startBreakable(env, TEN_CALLERS);

describe("a repeatedly failing service", () => {
  test.each<[string, (call: number) => boolean, number, number, string]>([
    ["still used after 19 failures", (call) => call <= 19, 19, 0, "ok"],
    ["still used when a third of its responses are failures", (call) => call % 3 === 0, 20, 40, "ok"],
    ["not used when it fails half of the time", (call) => call % 2 === 0, 10, 10, BREAKER],
  ])("is %s", async (_, isMeant, failed, ok, next) => {
    const { service, one } = await startOfTen();
    service.fail(/./, reset, isMeant);
    const verdicts = counted(await inSequence(failed + ok, one));
    expect(verdicts).toEqual({ UPSTREAM_UNAVAILABLE: failed, ...(ok > 0 && { ok }) });
    expect(await one()).toBe(next);
  });

  test("opens the circuit after 20 failures, and errors contain the retry time", async () => {
    const { service, one, gateway } = await startOfTen();
    expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(0);
    service.fail(/./, respondWith({ status: 503, text: "" }));
    expect(counted(await inSequence(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(counted(await inSequence(10, one))).toEqual({ [BREAKER]: 10 });
    expect(service.calls()).toHaveLength(20);
    expect(
      await gateway.ask(
        `{ experiment(id: "ada.mnist.7") { status } gateway { __typename } }`,
        {},
        { headers: { "x-request-id": "request-1" } },
      ),
    ).toEqual({
      data: { experiment: null, gateway: { __typename: "GatewayInfo" } },
      errors: [
        {
          message: BROKEN,
          locations: [{ line: 1, column: 3 }],
          path: ["experiment"],
          extensions: { code: "UPSTREAM_UNAVAILABLE", requestId: "request-1", retryAfterSeconds: 5 },
        },
      ],
    });
    expect(service.calls()).toHaveLength(20);
    expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(1);
  });

  test.each<[string, Fault, string]>([
    ["breaks connections", reset, "UPSTREAM_UNAVAILABLE"],
    ["is silent", hang, "UPSTREAM_TIMEOUT"],
    ["answers 502", respondWith({ status: 502, text: "" }), "UPSTREAM_UNAVAILABLE"],
    ["answers 504", respondWith({ status: 504, text: "" }), "UPSTREAM_UNAVAILABLE"],
  ])("opens the circuit when it %s", async (_, fault, code) => {
    await withDeadline(async (deadlineMs) => {
      const { service, one, many } = await startOfTen(
        fault === hang ? { UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}` } : {},
      );
      service.fail(/./, fault);
      expect(counted(await many(20))).toEqual({ [code]: 20 });
      expect(await one()).toBe(BREAKER);
      expect(service.calls()).toHaveLength(20);
    });
  });

  test("keeps the circuit closed when failures spread over more than 10 seconds", async () => {
    const { service, one, pass } = await startOfTen();
    service.fail(/./, reset);
    for (let round = 0; round < 4; round++) {
      expect(counted(await inSequence(10, one))).toEqual({ UPSTREAM_UNAVAILABLE: 10 });
      pass(11_000);
    }
    expect(service.calls()).toHaveLength(40);
  });

  test("is probed by one read after 5 seconds; success closes the circuit", async () => {
    const { service, one, many, pass } = await startOfTen();
    service.fail(/./, reset);
    await inSequence(20, one);
    pass(4_900);
    expect(await one()).toBe(BREAKER);
    service.heal();
    pass(200);
    expect(await one()).toBe("ok");
    expect(counted(await many(30))).toEqual({ ok: 30 });
    expect(service.calls()).toHaveLength(52);
    expect(service.calls().slice(20, 22)).toEqual(["GET users/", "GET ada/mnist/experiments/22/"]);
    expect(service.seen()[20]?.headers["authorization"]).toBe("token t0ken3");
  });

  test("keeps the circuit open another 5 seconds when the probe fails", async () => {
    const { service, one, pass } = await startOfTen();
    service.fail(/./, reset);
    await inSequence(20, one);
    pass(5_100);
    expect(counted(await inSequence(3, one))).toEqual({ [BREAKER]: 3 });
    expect(service.calls()).toHaveLength(21);
    pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
  });

  test.each([401, 403, 404, 409, 429, 500])("is not assumed after responses with %i", async (status) => {
    const { service, one } = await startOfTen();
    service.fail(/./, respondWith({ status, json: {} }), (call) => call <= 25);
    await inSequence(25, one);
    expect(await one()).toBe("ok");
  });

  test("is not assumed after requests that time out before being sent", async () => {
    await withDeadline(async (deadlineMs) => {
      const { service, gateway, one } = await startOfTen({
        UPSTREAM_CONNECTIONS: "1",
        REQUEST_TIMEOUT_MS: `${deadlineMs}`,
      });
      service.fail(/./, hang, (call) => call === 1);
      const { errors } = (await gateway.ask(statusesOf(upTo(25)))) as Answer<unknown>;
      expect(counted(errors?.map(({ extensions }) => String(extensions["code"])) ?? [])).toEqual({
        UPSTREAM_TIMEOUT: 25,
      });
      expect(service.calls()).toHaveLength(1);
      expect(await one()).toBe("ok");
    });
  });

  /** The circuit is open for 5 seconds. The next exchange is the probe. */
  async function startOpen(env: Record<string, string> = {}) {
    const scene = await startOfTen(env);
    scene.service.fail(/./, reset);
    expect(counted(await inSequence(20, scene.one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(await scene.one()).toBe(BREAKER);
    scene.pass(5_100);
    return scene;
  }

  test("gets only the probe first, and then the waiting requests", async () => {
    const { service, many, gateway } = await startOpen();
    const delayed = delayAll();
    service.fail(/./, delayed.fault);
    const waiting = many(11);
    await reaches(gateway, "rungraph_upstream_requests_waiting", 11);
    const headers = { authorization: "token t0ken" };
    const download = fetch(gateway.url + OUTPUTS_OF_42, { headers });
    await reaches(gateway, "rungraph_downloads_running", 1);
    await delayed.arrived(1);
    expect(service.calls()).toHaveLength(21);
    service.heal();
    delayed.release();
    expect(counted(await waiting)).toEqual({ ok: 11 });
    expect((await download).status).toBe(200);
    expect(service.calls()).toHaveLength(33);
  });

  test("keeps the circuit open if no probe response arrives in 4 seconds", async () => {
    const { service, one, many, pass } = await startOpen();
    const delayed = delayAll();
    service.fail(/./, delayed.fault);
    const waiting = many(3);
    await delayed.arrived(1);
    pass(4_000);
    expect(counted(await waiting)).toEqual({ [BREAKER]: 3 });
    service.heal();
    expect(await one()).toBe(BREAKER);
    // The time without requests counts.
    pass(1_000);
    expect(await one()).toBe("ok");
  });

  test("is probed at the waiting request's path every second time", async () => {
    const { service, one, pass } = await startOpen();
    service.heal();
    service.fail(/users/, reset);
    expect(await one()).toBe(BREAKER);
    pass(5_100);
    expect(await one()).toBe("ok");
    expect(service.calls().slice(20)).toEqual([
      "GET users/",
      "GET ada/mnist/experiments/23/",
      "GET ada/mnist/experiments/23/",
    ]);
  });

  test.each(["leaves", "has no time left"])(
    "is probed to the end although the waiting caller %s",
    async (how) => {
      await withDeadline(async (deadlineMs) => {
        const { service, one, gateway } = await startOpen(
          how === "leaves" ? {} : { REQUEST_TIMEOUT_MS: `${deadlineMs}` },
        );
        const delayed = delayAll();
        service.fail(/./, delayed.fault);
        const caller = begin(gateway.url, { path: "/graphql", graphql: statusOf(100) });
        await delayed.arrived(1);
        if (how === "leaves") caller.destroy();
        else await once(caller, "response");
        service.heal();
        const waiting = one();
        delayed.release();
        expect(await waiting).toBe("ok");
        expect(service.calls().slice(20)).toEqual(["GET users/", "GET ada/mnist/experiments/22/"]);
      });
    },
  );

  test("is probed without a token twice while a login waits", async () => {
    const { service, gateway, pass } = await startOpen();
    const login = `mutation { login(input: { username: "ada", password: "x" }) { token } }`;
    expect((await gateway.ask(login)).data).toEqual({ login: null });
    pass(5_100);
    service.heal();
    service.fail(/POST/, respondWith({ json: { token: "n3w" } }));
    expect(await gateway.ask(login)).toEqual({ data: { login: { token: "n3w" } } });
    const tried = service.seen().slice(20);
    expect(tried.map(({ method, headers, body }) => [method, headers["authorization"], body])).toEqual([
      ["GET", undefined, ""],
      ["GET", undefined, ""],
      ["POST", undefined, expect.any(String)],
    ]);
  });

  test("is probed immediately by a cheap read when only one caller fails", async () => {
    const { service, one, pass } = await startBreakable();
    const other = { token: "other" };
    expect(await one(1_000, other)).toBe("ok");
    service.fail(/experiments\/\d{1,3}\//, respondWith({ status: 503, text: "" }));
    for (const round of [1, 2]) {
      // The reads of the other caller are outside the window.
      pass(11_000);
      const before = service.calls().length;
      expect(counted(await inSequence(45, one))).toEqual({ UPSTREAM_UNAVAILABLE: 45 });
      expect(await one(1_000 + round, other)).toBe("ok");
      const failed = upTo(45).map((id) => `GET ada/mnist/experiments/${(round - 1) * 45 + id}/`);
      expect(service.calls().slice(before)).toEqual([
        ...failed.slice(0, 20),
        "GET users/",
        ...failed.slice(20),
        `GET ada/mnist/experiments/${1_000 + round}/`,
      ]);
    }
  });

  test("opens the circuit when a single caller and the probe both fail", async () => {
    const { service, one, pass } = await startBreakable();
    service.fail(/./, reset);
    expect(counted(await inSequence(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(counted(await inSequence(5, one))).toEqual({ [BREAKER]: 5 });
    expect(service.calls().slice(20)).toEqual(["GET users/"]);
    pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
  });

  test("is judged by completed responses, not by callers that disconnected", async () => {
    const { service, one, gateway } = await startOfTen();
    const delayed = delayAll();
    service.fail(/./, delayed.fault, (call) => call <= 25);
    const callers = Array.from({ length: 25 }, (_, id) =>
      begin(gateway.url, { path: "/graphql", graphql: statusOf(id + 100) }),
    );
    await delayed.arrived(25);
    for (const caller of callers) caller.destroy();
    expect(await one()).toBe("ok");
    service.fail(/./, reset);
    // One of the last twenty reads succeeded.
    expect(counted(await inSequence(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 19, [BREAKER]: 1 });
  });

  test("stays available after recovery, whatever happens to earlier requests", async () => {
    const { service, one, pass } = await startOfTen();
    const before: Trouble[] = [];
    const earlier = { token: "earlier" };
    for (const options of [{}, earlier]) expect(await one(1, options)).toBe("ok");
    pass(10_000);
    service.fail(
      /./,
      (trouble) => void before.push(trouble),
      (call) => call <= 25,
    );
    const late = Promise.all(upTo(25).map((id) => one(id, earlier)));
    await vi.waitUntil(() => before.length === 25, LONG_TIMEOUT);
    service.fail(/./, reset);
    await inSequence(40, one);
    expect(await one()).toBe(BREAKER);
    pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
    for (const trouble of before) reset(trouble);
    expect(counted(await late)).toEqual({ UPSTREAM_UNAVAILABLE: 25 });
    expect(await one()).toBe("ok");
  });
});

test("after UPSTREAM_CONNECT_TIMEOUT_MS, connections fail and commands count as unsent", async () => {
  // No other limit would end the request.
  const gateway = await startGateway({
    upstream: await startSilent(),
    env: { UPSTREAM_CONNECT_TIMEOUT_MS: "100" },
  });
  const details = { code: "UPSTREAM_UNAVAILABLE", requestId: expect.any(String) as string };
  const read = `{ experiment(id: "ada.mnist.1") { status } }`;
  expect((await gateway.ask(read)).errors?.map(({ extensions }) => extensions)).toEqual([
    { ...details, upstream: { method: "GET", route: "{owner}/{project}/experiments/{id}/" } },
  ]);
  const command = `mutation { stopExperiment(id: "ada.mnist.1", force: true) { experiment { id } } }`;
  expect((await gateway.ask(command)).errors?.map(({ extensions }) => extensions)).toEqual([
    { ...details, upstream: { method: "POST", route: "{owner}/{project}/experiments/{id}/stop" } },
  ]);
  const download = await fetch(gateway.url + OUTPUTS_OF_42, { headers: { authorization: "token t0ken" } });
  expect(await download.json()).toMatchObject({ errors: [{ extensions: { code: "UPSTREAM_UNAVAILABLE" } }] });
});
