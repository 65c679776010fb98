import { describe, expect, onTestFinished, test, vi } from "vitest";
import { cases } from "../support/cases.ts";
import type { Seen, Told } from "../support/fake.ts";
import { type Fault, startFaultServer, type Trouble, withProbability } from "../support/fault-server.ts";
import { hang, oneOf, reset, say } from "../support/faults.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { PATIENT, withDeadline } from "../support/patience.ts";
import { startDeaf } from "../support/silent-ports.ts";

const record = ({ path, method }: Seen): Told | undefined => {
  const id = /\/(?:experiments|jobs|builds)\/(\d+)\//.exec(path)?.[1];
  if (!id) return undefined;
  return method === "DELETE"
    ? { text: "", status: 204 }
    : { json: { id: Number(id), last_status: "running" } };
};

const BROKEN = "The service failed again and again and is not asked for a moment.";
const BREAKER = "UPSTREAM_UNAVAILABLE, again in 5";

/** A gateway before a service that can be broken; `many` asks for so many different experiments at once. */
async function start(env: Record<string, string> = {}) {
  const service = await startFaultServer(record);
  const gateway = await startGateway({ upstream: service, env });
  let asked = 0;
  const one = async (id = ++asked, options = {}): Promise<string> => {
    const query = `{ experiment(id: "ada.mnist.${id}") { status } }`;
    return verdictOf((await gateway.ask(query, {}, options)) as Answer<unknown>);
  };
  const many = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => one()));
  return { service, gateway, one, many };
}

/** Asks for an experiment of its own until the signal, and gives what came of it. */
const askAndLeave = (
  { url }: { readonly url: string },
  { id, signal }: { readonly id: number; readonly signal: AbortSignal },
): Promise<string> =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken" },
    body: JSON.stringify({ query: `{ experiment(id: "ada.mnist.${id}") { status } }` }),
    signal,
  }).then(
    () => "answered",
    () => "left",
  );

/** 25 callers that leave once the service has all their requests, and what came of each. */
async function leaveAll({ service, gateway }: Awaited<ReturnType<typeof start>>): Promise<string[]> {
  const hold = holdAll();
  service.fail(/./, hold.fault, (call) => call <= 25);
  const leaving = new AbortController();
  const left = Array.from({ length: 25 }, (_, id) =>
    askAndLeave(gateway, { id: id + 100, signal: leaving.signal }),
  );
  await hold.arrived(25);
  leaving.abort();
  return Promise.all(left);
}

/** `ok`, or the code of the first error, with how long to wait. */
function verdictOf({ errors }: Answer<unknown>): string {
  if (!errors) return "ok";
  const { code, retryAfterSeconds } = errors[0]?.extensions ?? {};
  return retryAfterSeconds === undefined ? String(code) : `${code}, again in ${retryAfterSeconds}`;
}

/** A clock that stands still until it is told. */
function holdClock() {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
  onTestFinished(() => void vi.useRealTimers());
  return { pass: (ms: number) => void vi.setSystemTime(Date.now() + ms) };
}

const counted = (verdicts: readonly string[]) =>
  Object.fromEntries(
    [...new Set(verdicts)].toSorted().map((each) => [each, verdicts.filter((one) => one === each).length]),
  );

const times = async (count: number, act: () => Promise<string>): Promise<string[]> => {
  const verdicts: string[] = [];
  for (let turn = 0; turn < count; turn++) verdicts.push(await act());
  return verdicts;
};

describe("a service that fails again and again", () => {
  test("is not asked any more after 20 failures, and everybody is told at once to come again", async () => {
    holdClock();
    const { service, one, gateway } = await start();
    service.fail(/./, say({ status: 503, text: "" }));
    expect(counted(await times(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(counted(await times(10, one))).toEqual({ [BREAKER]: 10 });
    expect(service.calls()).toHaveLength(20);
    expect(
      await gateway.ask(
        `{ experiment(id: "ada.mnist.7") { status } gateway { limits { maxDepth } } }`,
        {},
        { headers: { "x-request-id": "story-1" } },
      ),
    ).toEqual({
      data: { experiment: null, gateway: { limits: { maxDepth: 15 } } },
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
    const { service, one } = await start();
    service.fail(/./, reset, (call) => call <= 19);
    expect(counted(await times(19, one))).toEqual({ UPSTREAM_UNAVAILABLE: 19 });
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
      const { service, one, many } = await start(
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
    const { service, one } = await start();
    service.fail(/./, reset, (call) => call % 2 === 0);
    expect(counted(await times(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 10, ok: 10 });
    expect(await one()).toBe(BREAKER);
  });

  test("is asked on when it fails less than half of the time", async () => {
    holdClock();
    const { service, one } = await start();
    service.fail(/./, reset, (call) => call % 3 === 0);
    expect(counted(await times(60, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20, ok: 40 });
  });

  test("is asked on when its failures lie further apart than 10 seconds", async () => {
    const clock = holdClock();
    const { service, one } = await start();
    service.fail(/./, reset);
    for (let turn = 0; turn < 4; turn++) {
      expect(counted(await times(10, one))).toEqual({ UPSTREAM_UNAVAILABLE: 10 });
      clock.pass(11_000);
    }
    expect(service.calls()).toHaveLength(40);
  });

  test("is tried with one request after 5 seconds, and asked as ever when that is answered", async () => {
    const clock = holdClock();
    const { service, one, many } = await start();
    service.fail(/./, reset);
    await times(20, one);
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
    const { service, one } = await start();
    service.fail(/./, reset);
    await times(20, one);
    clock.pass(5_100);
    expect(await one()).toBe("UPSTREAM_UNAVAILABLE");
    expect(await one()).toBe(BREAKER);
    clock.pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
  });

  test.each([401, 403, 404, 409, 429, 500])("is another than one that answers %i", async (status) => {
    holdClock();
    const { service, one } = await start();
    service.fail(/./, say({ status, json: {} }), (call) => call <= 25);
    await times(25, one);
    expect(await one()).toBe("ok");
  });

  test("is another than one whose callers leave", async () => {
    holdClock();
    const scene = await start();
    expect(counted(await leaveAll(scene))).toEqual({ left: 25 });
    expect(await scene.one()).toBe("ok");
  });

  test("is another than one that nobody came to ask before their time was over", async () => {
    await withDeadline(async (deadlineMs) => {
      holdClock();
      const { service, gateway, one } = await start({
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
    const scene = await start(env);
    scene.service.fail(/./, reset);
    expect(counted(await times(20, scene.one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
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
    expect(metrics).toMatch(/^rungraph_exchanges_running 1$/m);
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
    const scene = await start();
    const { service, one } = scene;
    await leaveAll(scene);
    service.fail(/./, reset);
    expect(counted(await times(20, one))).toEqual({ UPSTREAM_UNAVAILABLE: 20 });
    expect(await one()).toBe(BREAKER);
  });

  test("is asked on when it is back, whatever becomes of what was sent before", async () => {
    const clock = holdClock();
    const { service, one, many } = await start();
    const before: Trouble[] = [];
    service.fail(
      /./,
      (trouble) => void before.push(trouble),
      (call) => call <= 25,
    );
    const late = many(25);
    await vi.waitUntil(() => before.length === 25, PATIENT);
    service.fail(/./, reset);
    await times(40, one);
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
    const { service, one, gateway } = await start();
    const circuit = async () =>
      /^rungraph_circuit_open (\d)$/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1];
    expect(await circuit()).toBe("0");
    service.fail(/./, reset);
    await times(20, one);
    expect(await circuit()).toBe("1");
  });
});

/** Requests that the service holds until it is told to answer. */
function holdAll() {
  const held: (() => void)[] = [];
  let arrivals: (() => void)[] = [];
  const fault: Fault = ({ response, right }) => {
    held.push(() => void say(right)({ response, right } as never));
    for (const arrived of arrivals) arrived();
  };
  return {
    fault,
    count: () => held.length,
    /** Until so many requests are held. */
    arrived: async (count: number) => {
      while (held.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
      arrivals = [];
    },
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
  };
}

describe("when the service is busy", () => {
  const env = { UPSTREAM_CONNECTIONS: "2", UPSTREAM_QUEUE: "3" };

  test("so many are under way, so many wait, and who comes then is turned away at once", async () => {
    const { service, one, many, gateway } = await start(env);
    const hold = holdAll();
    service.fail(/./, hold.fault);
    const verdicts: string[] = [];
    const six = Array.from({ length: 6 }, () => one().then((verdict) => verdicts.push(verdict)));
    await vi.waitFor(() => expect(verdicts).toEqual(["SERVICE_OVERLOADED"]), PATIENT);
    expect(hold.count()).toBe(2);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/^rungraph_exchanges_running 2$/m);
    expect(metrics).toMatch(/^rungraph_exchanges_waiting 3$/m);
    expect(metrics).toMatch(/^rungraph_exchanges_shed 1$/m);

    service.heal();
    hold.release();
    await Promise.all(six);
    expect(counted(verdicts)).toEqual({ SERVICE_OVERLOADED: 1, ok: 5 });
    expect(counted(await many(5))).toEqual({ ok: 5 });
    expect(service.connections()).toBe(2);
  });

  test("a thousand requests while all connections hang are turned away, and afterwards all is as ever", async () => {
    const { service, one, many } = await start(env);
    const hold = holdAll();
    service.fail(/./, hold.fault);
    const five = many(5);
    await hold.arrived(2);
    expect(counted(await many(cases(300, 1_000)))).toEqual({ SERVICE_OVERLOADED: cases(300, 1_000) });
    expect(hold.count()).toBe(2);
    service.heal();
    hold.release();
    expect(counted(await five)).toEqual({ ok: 5 });
    expect(counted(await many(5))).toEqual({ ok: 5 });
    expect(await one()).toBe("ok");
  });

  test("one operation holds no more of its width at a time, and still gets everything", async () => {
    const { service, gateway } = await start({ MAX_UPSTREAM_WIDTH: "4" });
    const hold = holdAll();
    service.fail(/./, hold.fault);
    const fields = Array.from(
      { length: 12 },
      (_, id) => `e${id}: experiment(id: "ada.mnist.${id + 1}") { status }`,
    );
    const asked = gateway.ask<object, unknown>(`{ ${fields.join(" ")} }`);
    for (let turn = 0; turn < 3; turn++) {
      await hold.arrived(4);
      // Whoever would come beside the four had come before this answer.
      await gateway.ask("{ gateway { version } }");
      expect(hold.count()).toBe(4);
      hold.release();
    }
    const { data, errors } = await asked;
    expect(errors).toBeUndefined();
    expect(Object.values(data)).toEqual(Array.from({ length: 12 }, () => ({ status: "RUNNING" })));
  });

  test("a download holds no connection that others wait for", async () => {
    const { service, gateway, one } = await start({ UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "1" });
    const release: (() => void)[] = [];
    service.fail(/outputs/, ({ response }) => {
      response.writeHead(200).write("half");
      release.push(() => response.end());
    });
    const id = globalId("Experiment:ada/mnist/42");
    const response = await fetch(`${gateway.url}/downloads/${id}/outputs`, {
      headers: { authorization: "token t0ken" },
    });
    expect(await one(1)).toBe("ok");
    for (const end of release) end();
    expect(await response.text()).toBe("half");
  });
});

describe("second tries", () => {
  const env = { UPSTREAM_RETRIES: "2" };
  const atOnce = () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
  };

  test("are ten at most while little is asked: a dead service is not asked three times as often", async () => {
    holdClock();
    atOnce();
    const { service, many } = await start(env);
    service.fail(/./, reset, (call) => call <= 30);
    await many(9);
    expect(service.calls().length).toBe(19);
  });

  test("are a tenth at most while much is asked", async () => {
    holdClock();
    atOnce();
    const { service, one, many } = await start(env);
    await many(300);
    service.fail(/./, reset);
    // The circuit stays closed: most of the exchanges went well.
    expect(counted(await times(100, one))).toEqual({ UPSTREAM_UNAVAILABLE: 100 });
    const more = service.calls().length - 400;
    expect(more).toBeGreaterThanOrEqual(30);
    expect(more).toBeLessThanOrEqual(45);
  });

  test("are not earned by requests that were never sent", async () => {
    const clock = holdClock();
    atOnce();
    const { service, many, one } = await start(env);
    service.fail(/./, reset);
    await many(20);
    expect(counted(await many(500))).toEqual({ [BREAKER]: 500 });
    clock.pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
    const before = service.calls().length;
    service.fail(/./, reset, (call) => call <= 25);
    await many(60);
    expect(service.calls().length - before).toBeLessThanOrEqual(60 + 10);
  });

  test("are allowed anew after 10 seconds", async () => {
    const clock = holdClock();
    atOnce();
    const { service, many } = await start(env);
    service.fail(/./, reset, (call) => call <= 19);
    await many(9);
    expect(service.calls()).toHaveLength(19);
    // The circuit is not in question here: it closes again.
    clock.pass(11_000);
    await many(30);
    service.fail(/./, reset, (call) => call === 1);
    expect(await many(1)).toEqual(["ok"]);
  });

  test("are for reads alone", async () => {
    const { service, gateway } = await start(env);
    service.fail(/./, reset);
    const commands = [
      `mutation { stopExperiment(id: "ada.mnist.1") { experiment { id } } }`,
      `mutation { updateExperiment(id: "ada.mnist.1", input: { description: "x" }) { experiment { id } } }`,
      `mutation { deleteExperiment(id: "ada.mnist.1") { __typename } }`,
      `mutation { login(input: { username: "ada", password: "x" }) { token } }`,
    ];
    for (const command of commands) {
      const { errors } = await gateway.ask<unknown, unknown>(command);
      expect(errors?.map(({ extensions }) => [extensions["code"], extensions["outcome"]])).toEqual([
        ["UPSTREAM_UNAVAILABLE", "unknown"],
      ]);
    }
    expect(service.calls()).toEqual([
      "POST ada/mnist/experiments/1/stop",
      "PATCH ada/mnist/experiments/1/",
      "DELETE ada/mnist/experiments/1/",
      "POST users/token/",
    ]);
  });
});

describe("a service that fails at three requests of ten", () => {
  const clock = () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    return holdClock();
  };

  /** The gateway before such a service, and whether each call of an experiment, in their order, went wrong. */
  async function startUnsteady(route: RegExp, seed: number) {
    const { service, gateway, one } = await start({ UPSTREAM_RETRIES: "2" });
    const wrong = new Set<number>();
    const fault = oneOf(reset, say({ status: 503, text: "" }));
    service.fail(
      route,
      (trouble) => {
        wrong.add(service.seen().length);
        return fault(trouble);
      },
      withProbability(0.3, seed),
    );
    const triesOf = (id: number) =>
      service.seen().flatMap(({ path }, at) => (path.includes(`/${id}/`) ? [!wrong.has(at + 1)] : []));
    return { service, gateway, one, triesOf };
  }

  test("is asked up to three times, and then nothing is missing", async () => {
    const { pass } = clock();
    const { one, triesOf, service } = await startUnsteady(/^GET/, 1);
    const verdicts: string[] = [];
    for (let turn = 0; turn < 200; turn++) {
      // Second tries are never short.
      if (turn % 8 === 0) pass(11_000);
      verdicts.push(await one());
    }
    for (const [turn, verdict] of verdicts.entries()) {
      const tries = triesOf(turn + 1);
      const isLost = tries.length === 3 && !tries.includes(true);
      expect([verdict, ...tries]).toEqual(
        isLost
          ? ["UPSTREAM_UNAVAILABLE", false, false, false]
          : ["ok", ...tries.slice(1).map(() => false), true],
      );
    }
    expect(service.calls().length).toBeGreaterThan(270);
    expect(counted(verdicts)["ok"]).toBeGreaterThan(185);
  });

  test("is not asked more than a tenth oftener for it", async () => {
    clock();
    const { one, triesOf, service } = await startUnsteady(/^GET/, 1);
    const verdicts = await times(500, one);
    const more = service.calls().length - 500;
    expect(more).toBeGreaterThan(45);
    expect(more).toBeLessThanOrEqual(service.calls().length * 0.1 + 1);
    // Who got no second try is told so, and who got an answer has it whole.
    for (const [turn, verdict] of verdicts.entries())
      expect(verdict).toBe(triesOf(turn + 1).at(-1) ? "ok" : "UPSTREAM_UNAVAILABLE");
    expect(counted(verdicts)["UPSTREAM_UNAVAILABLE"]).toBeGreaterThan(50);
  });

  test("gets every command once, and who sent one that went wrong is told whether it may have happened", async () => {
    const { pass } = clock();
    const { gateway, service } = await startUnsteady(/./, 1);
    const outcomes: string[] = [];
    for (let id = 1; id <= 100; id++) {
      if (id % 10 === 0) pass(11_000);
      const command = `mutation { stopExperiment(id: "ada.mnist.${id}") { experiment { status } } }`;
      const { errors } = (await gateway.ask(command)) as Answer<unknown>;
      const failed = errors?.find(({ path }) => path?.length === 1);
      outcomes.push(failed ? `${String(failed.extensions["outcome"])}` : "ok");
    }
    expect(service.calls(/^POST/)).toEqual(
      Array.from({ length: 100 }, (_, id) => `POST ada/mnist/experiments/${id + 1}/stop`),
    );
    // A reset says nothing; a 503 says that it was not taken.
    expect(Object.keys(counted(outcomes))).toEqual(["ok", "undefined", "unknown"]);
    expect(counted(outcomes)["ok"]).toBeGreaterThan(55);
    expect(service.calls(/^GET/).length).toBeGreaterThan(counted(outcomes)["ok"] ?? 0);
  });
});

describe("a command that is refused", () => {
  const COMMANDS: readonly (readonly [RegExp, string])[] = [
    [/^POST .*stop/, `mutation { stopExperiment(id: "ada.mnist.1") { experiment { id } } }`],
    [
      /^PATCH/,
      `mutation { updateExperiment(id: "ada.mnist.1", input: { description: "x" }) { experiment { id } } }`,
    ],
    [/^DELETE/, `mutation { deleteExperiment(id: "ada.mnist.1") { __typename } }`],
    [/^POST .*token/, `mutation { login(input: { username: "ada", password: "x" }) { token } }`],
  ];
  const html = (status: number): Told => ({
    status,
    text: "<html></html>",
    headers: { "content-type": "text/html", location: "/elsewhere" },
  });
  const json = (status: number): Told => ({ status, json: { detail: 'Method "POST" not allowed.' } });

  /** What each command comes to when it is answered so, once. */
  async function refuseAll(told: Told) {
    const { service, gateway } = await start({ UPSTREAM_RETRIES: "2" });
    service.fail(/^(?!GET)/, say(told));
    const outcomes = await Promise.all(
      COMMANDS.map(async ([route, command]) => {
        const { errors = [] } = (await gateway.ask(command)) as Answer<unknown>;
        expect(service.calls(route)).toHaveLength(1);
        return errors.map(({ extensions: { code, outcome } }) => `${code} ${outcome ?? "refused"}`);
      }),
    );
    expect(service.calls()).toHaveLength(COMMANDS.length);
    return new Set(outcomes.flat());
  }

  test.each<[string, Told, string]>([
    ["by a redirect to another address", html(301), "UPSTREAM_BAD_RESPONSE"],
    ["by a temporary one", html(307), "UPSTREAM_BAD_RESPONSE"],
    ["by a permanent one", html(308), "UPSTREAM_BAD_RESPONSE"],
    ["by a 404 that is a page", html(404), "UPSTREAM_UNSUPPORTED"],
    ["by a 405 that says so", json(405), "UPSTREAM_UNSUPPORTED"],
    ["by a 429", json(429), "RATE_LIMITED"],
    ["by a 503", json(503), "UPSTREAM_UNAVAILABLE"],
  ])("%s has not happened", async (_, told, code) => {
    expect(await refuseAll(told)).toEqual(new Set([`${code} refused`]));
  });

  test.each<[string, Told, string]>([
    ["a redirect to what came of it", html(303), "UPSTREAM_BAD_RESPONSE"],
    ["a redirect that is often meant so", html(302), "UPSTREAM_BAD_RESPONSE"],
    ["a redirect that makes no sense", html(304), "UPSTREAM_BAD_RESPONSE"],
    ["a 500", html(500), "UPSTREAM_ERROR"],
    ["a 504", html(504), "UPSTREAM_UNAVAILABLE"],
  ])("by %s may have happened", async (_, told, code) => {
    expect(await refuseAll(told)).toEqual(new Set([`${code} unknown`]));
  });
});

test("while one of three routes is dead the others answer", async () => {
  await withDeadline(async (deadlineMs) => {
    const { service, gateway } = await start({ UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}` });
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
  const { service, many, one } = await start();
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
