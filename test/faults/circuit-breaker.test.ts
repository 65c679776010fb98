import { describe, expect, test, vi } from "vitest";
import {
  askAndLeave,
  BREAKER,
  BROKEN,
  counted,
  holdAll,
  holdClock,
  inTurn,
  leaveAll,
  startBreakable,
} from "../support/breakable.ts";
import type { Fault, Trouble } from "../support/fault-server.ts";
import { hang, reset, say } from "../support/faults.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { PATIENT, withDeadline } from "../support/patience.ts";
import { startDeaf } from "../support/silent-ports.ts";

describe("a service that fails again and again", () => {
  test("is not asked any more after 20 failures, and everybody is told at once to come again", async () => {
    holdClock();
    const { service, one, gateway } = await startBreakable();
    service.fail(/./, say({ status: 503, text: "" }));
    expect(counted(await inTurn(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(counted(await inTurn(10, one))).toEqual({ [BREAKER]: 10 });
    expect(service.calls()).toHaveLength(20);
    expect(
      await gateway.ask(
        `{ experiment(id: "ada.mnist.7") { status } gateway { __typename } }`,
        {},
        { headers: { "x-request-id": "story-1" } },
      ),
    ).toEqual({
      data: { experiment: null, gateway: { __typename: "GatewayInfo" } },
      errors: [
        {
          message: BROKEN,
          locations: [{ line: 1, column: 3 }],
          path: ["experiment"],
          extensions: { code: "UPSTREAM_UNAVAILABLE", requestId: "story-1", retryAfterSeconds: 5 },
        },
      ],
    });
    expect(service.calls()).toHaveLength(20);
  });

  test("is asked on after 19", async () => {
    holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, reset, (call) => call <= 19);
    expect(counted(await inTurn(19, one))).toEqual({ UPSTREAM_UNAVAILABLE: 19 });
    expect(await one()).toBe("ok");
  });

  test.each<[string, Fault, string]>([
    ["breaks connections", reset, "UPSTREAM_UNAVAILABLE"],
    ["is silent", hang, "UPSTREAM_TIMEOUT"],
    ["answers 502", say({ status: 502, text: "" }), "UPSTREAM_UNAVAILABLE"],
    ["answers 504", say({ status: 504, text: "" }), "UPSTREAM_UNAVAILABLE"],
  ])("is left alone when it %s", async (_, fault, code) => {
    await withDeadline(async (deadlineMs) => {
      holdClock();
      const { service, one, many } = await startBreakable(
        fault === hang ? { UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}` } : {},
      );
      service.fail(/./, fault);
      expect(counted(await many(20))).toEqual({ [code]: 20 });
      expect(await one()).toBe(BREAKER);
      expect(service.calls()).toHaveLength(20);
    });
  });

  test("is left alone when it fails half of the time", async () => {
    holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, reset, (call) => call % 2 === 0);
    expect(counted(await inTurn(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 10, ok: 10 });
    expect(await one()).toBe(BREAKER);
  });

  test("is asked on when it fails less than half of the time", async () => {
    holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, reset, (call) => call % 3 === 0);
    expect(counted(await inTurn(60, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20, ok: 40 });
  });

  test("is asked on when its failures lie further apart than 10 seconds", async () => {
    const clock = holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, reset);
    for (let turn = 0; turn < 4; turn++) {
      expect(counted(await inTurn(10, one))).toEqual({ UPSTREAM_UNAVAILABLE: 10 });
      clock.pass(11_000);
    }
    expect(service.calls()).toHaveLength(40);
  });

  test("is tried with one request after 5 seconds, and asked as ever when that is answered", async () => {
    const clock = holdClock();
    const { service, one, many } = await startBreakable();
    service.fail(/./, reset);
    await inTurn(20, one);
    clock.pass(4_900);
    expect(await one()).toBe(BREAKER);
    service.heal();
    clock.pass(200);
    expect(await one()).toBe("ok");
    expect(counted(await many(30))).toEqual({ ok: 30 });
    expect(service.calls()).toHaveLength(51);
  });

  test("is left alone for another 5 seconds when that one fails too", async () => {
    const clock = holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, reset);
    await inTurn(20, one);
    clock.pass(5_100);
    expect(await one()).toBe("UPSTREAM_UNAVAILABLE");
    expect(await one()).toBe(BREAKER);
    clock.pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
  });

  test.each([401, 403, 404, 409, 429, 500])("is another than one that answers %i", async (status) => {
    holdClock();
    const { service, one } = await startBreakable();
    service.fail(/./, say({ status, json: {} }), (call) => call <= 25);
    await inTurn(25, one);
    expect(await one()).toBe("ok");
  });

  test("is still asked after 25 callers left before their answers", async () => {
    holdClock();
    const scene = await startBreakable();
    expect(counted(await leaveAll(scene))).toEqual({ left: 25 });
    expect(await scene.one()).toBe("ok");
  });

  test("is another than one that nobody came to ask before their time was over", async () => {
    await withDeadline(async (deadlineMs) => {
      holdClock();
      const { service, gateway, one } = await startBreakable({
        UPSTREAM_CONNECTIONS: "1",
        REQUEST_TIMEOUT_MS: `${deadlineMs}`,
      });
      service.fail(/./, hang, (call) => call === 1);
      const fields = Array.from(
        { length: 25 },
        (_, id) => `e${id}: experiment(id: "ada.mnist.${id}") { status }`,
      );
      const { errors } = (await gateway.ask(`{ ${fields.join(" ")} }`)) as Answer<unknown>;
      expect(counted(errors?.map(({ extensions }) => String(extensions["code"])) ?? [])).toEqual({
        UPSTREAM_TIMEOUT: 25,
      });
      expect(service.calls()).toHaveLength(1);
      expect(await one()).toBe("ok");
    });
  });

  /** The circuit is open for 5 seconds, and the next exchange is the one that tries. */
  async function startOpen(env: Record<string, string> = {}) {
    const clock = holdClock();
    const scene = await startBreakable(env);
    scene.service.fail(/./, reset);
    expect(counted(await inTurn(20, scene.one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(await scene.one()).toBe(BREAKER);
    clock.pass(5_100);
    return { ...scene, clock };
  }

  test("is asked by nobody else while one request tries it", async () => {
    const { service, one, many, gateway } = await startOpen();
    const hold = holdAll();
    service.fail(/./, hold.fault);
    const trying = one();
    await hold.arrived(1);
    expect(counted(await many(10))).toEqual({ [BREAKER]: 10 });
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/^rungraph_upstream_requests_running 1$/m);
    service.heal();
    hold.release();
    expect(await trying).toBe("ok");
    expect(counted(await many(10))).toEqual({ ok: 10 });
  });

  test.each(["leaves", "has no time left"])(
    "is tried by the next request when the caller of the one that tries %s",
    async (how) => {
      await withDeadline(async (deadlineMs) => {
        const { service, one, gateway } = await startOpen(
          how === "leaves" ? {} : { REQUEST_TIMEOUT_MS: `${deadlineMs}` },
        );
        const hold = holdAll();
        service.fail(/./, (trouble) => (hold.count() === 0 ? hold.fault : reset)(trouble));
        const leaving = new AbortController();
        const trying = askAndLeave(gateway, { id: 100, signal: leaving.signal });
        await hold.arrived(1);
        if (how === "leaves") leaving.abort();
        expect(await trying).toBe(how === "leaves" ? "left" : "answered");
        // It told nothing: the circuit is not closed, and nobody is kept waiting for 5 seconds either.
        await vi.waitUntil(async () => (await one()) === "UPSTREAM_UNAVAILABLE", PATIENT);
        expect(await one()).toBe(BREAKER);
        expect(service.calls()).toHaveLength(22);
      });
    },
  );

  test("is left alone however many callers left before it failed", async () => {
    holdClock();
    const scene = await startBreakable();
    const { service, one } = scene;
    await leaveAll(scene);
    service.fail(/./, reset);
    expect(counted(await inTurn(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(await one()).toBe(BREAKER);
  });

  test("is asked on when it is back, whatever becomes of what was sent before", async () => {
    const clock = holdClock();
    const { service, one, many } = await startBreakable();
    const before: Trouble[] = [];
    service.fail(
      /./,
      (trouble) => void before.push(trouble),
      (call) => call <= 25,
    );
    const late = many(25);
    await vi.waitUntil(() => before.length === 25, PATIENT);
    service.fail(/./, reset);
    await inTurn(40, one);
    expect(await one()).toBe(BREAKER);
    clock.pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
    for (const trouble of before) reset(trouble);
    expect(counted(await late)).toEqual({ UPSTREAM_UNAVAILABLE: 25 });
    expect(await one()).toBe("ok");
  });

  test("shows in the metrics", async () => {
    holdClock();
    const { service, one, gateway } = await startBreakable();
    const circuit = async () =>
      /^rungraph_circuit_open (\d)$/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1];
    expect(await circuit()).toBe("0");
    service.fail(/./, reset);
    await inTurn(20, one);
    expect(await circuit()).toBe("1");
  });
});

test("while one of three routes is dead the others answer", async () => {
  await withDeadline(async (deadlineMs) => {
    const { service, gateway } = await startBreakable({ UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}` });
    service.fail(/jobs/, hang);
    const answer = (await gateway.ask(`{
    experiment(id: "ada.mnist.1") { status }
    job(id: "ada.mnist.jobs.2") { status }
    buildJob(id: "ada.mnist.builds.3") { status }
  }`)) as Answer<unknown>;
    expect(answer.data).toEqual({
      experiment: { status: "RUNNING" },
      job: null,
      buildJob: { status: "RUNNING" },
    });
    expect(answer.errors?.map(({ path, extensions }) => [path, extensions["code"]])).toEqual([
      [["job"], "UPSTREAM_TIMEOUT"],
    ]);
  });
});

test("a service that restarts on its port is found again, although its connections were left open", async () => {
  const { service, many, one } = await startBreakable();
  expect(counted(await many(8))).toEqual({ ok: 8 });
  await service.stop();
  expect(await one()).toBe("UPSTREAM_UNAVAILABLE");
  await service.restart();
  expect(counted(await many(8))).toEqual({ ok: 8 });
});

test("a service that lets nobody connect is out of reach after UPSTREAM_CONNECT_TIMEOUT_MS, and no command can have happened", async () => {
  // None of the other limits would end it.
  const gateway = await startGateway({
    upstream: await startDeaf(),
    env: { UPSTREAM_CONNECT_TIMEOUT_MS: "100" },
  });
  const facts = { code: "UPSTREAM_UNAVAILABLE", requestId: expect.any(String) as string };
  const read = `{ experiment(id: "ada.mnist.1") { status } }`;
  expect((await gateway.ask(read)).errors?.map(({ extensions }) => extensions)).toEqual([
    { ...facts, upstream: { method: "GET", route: "{owner}/{project}/experiments/{id}/" } },
  ]);
  const command = `mutation { stopExperiment(id: "ada.mnist.1") { experiment { id } } }`;
  expect((await gateway.ask(command)).errors?.map(({ extensions }) => extensions)).toEqual([
    { ...facts, upstream: { method: "POST", route: "{owner}/{project}/experiments/{id}/stop" } },
  ]);
});
