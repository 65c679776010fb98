import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BREAKER, counted, holdWindows, inTurn, startBreakable } from "../support/breakable.ts";
import { cases } from "../support/cases.ts";
import type { Told } from "../support/fake.ts";
import { withProbability } from "../support/fault-server.ts";
import { oneOf, reset, say } from "../support/faults.ts";
import type { Answer } from "../support/gateway.ts";

describe("second tries of reads", () => {
  const env = { UPSTREAM_RETRIES: "2" };
  const atOnce = () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
  };

  test("are ten at most while little is asked: a dead service is not asked three times as often", async () => {
    holdWindows();
    atOnce();
    const { service, many } = await startBreakable(env);
    service.fail(/./, reset, (call) => call <= 30);
    await many(9);
    expect(service.calls().length).toBe(19);
  });

  test("are a tenth at most while much is asked", async () => {
    holdWindows();
    atOnce();
    const { service, one, many } = await startBreakable(env);
    await many(300);
    service.fail(/./, reset);
    // The circuit stays closed: most of the exchanges went well.
    expect(counted(await inTurn(100, one))).toEqual({ UPSTREAM_UNAVAILABLE: 100 });
    const more = service.calls().length - 400;
    expect(more).toBeGreaterThanOrEqual(30);
    expect(more).toBeLessThanOrEqual(45);
  });

  test("are not earned by requests that were never sent", async () => {
    holdWindows();
    atOnce();
    const { service, many, one, pass } = await startBreakable(env);
    service.fail(/./, reset);
    await many(20);
    const unsent = cases(100, 500);
    expect(counted(await many(unsent))).toEqual({ [BREAKER]: unsent });
    pass(5_100);
    service.heal();
    expect(await one()).toBe("ok");
    const before = service.calls().length;
    service.fail(/./, reset, (call) => call <= 25);
    await many(60);
    expect(service.calls().length - before).toBeLessThanOrEqual(60 + 10);
  });

  test("are allowed anew after 10 seconds", async () => {
    holdWindows();
    atOnce();
    const { service, many, pass } = await startBreakable(env);
    service.fail(/./, reset, (call) => call <= 19);
    await many(9);
    expect(service.calls()).toHaveLength(19);
    // The circuit is not in question here: it closes again.
    pass(11_000);
    await many(30);
    service.fail(/./, reset, (call) => call === 1);
    expect(await many(1)).toEqual(["ok"]);
  });
});

describe("a service that fails at three requests of ten", () => {
  const hold = (): void => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    holdWindows();
  };

  /** The gateway before such a service, and whether each call of an experiment, in their order, went wrong. */
  async function startUnsteady(route: RegExp, seed: number) {
    const { service, gateway, one, pass } = await startBreakable({ UPSTREAM_RETRIES: "2" });
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
    return { service, gateway, one, pass, triesOf };
  }

  test("is not asked more than a tenth oftener for it", async () => {
    hold();
    const { one, triesOf, service } = await startUnsteady(/^GET/, 1);
    const turns = cases(200, 500);
    const verdicts = await inTurn(turns, one);
    const more = service.calls().length - turns;
    expect(more).toBeGreaterThan(turns * 0.09);
    expect(more).toBeLessThanOrEqual(service.calls().length * 0.1 + 1);
    // Who got no second try is told so, and who got an answer has it whole.
    for (const [turn, verdict] of verdicts.entries())
      expect(verdict).toBe(triesOf(turn + 1).at(-1) ? "ok" : "UPSTREAM_UNAVAILABLE");
    expect(counted(verdicts)["UPSTREAM_UNAVAILABLE"]).toBeGreaterThan(turns / 10);
  });
});

describe("a command that is refused by the service", () => {
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
    const { service, gateway } = await startBreakable({ UPSTREAM_RETRIES: "2" });
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
