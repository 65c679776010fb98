import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Outcome, startFixture, type Who, type Fixture } from "../support/admission-fixture.ts";
import { ENTER, type Enter } from "../support/admission.ts";
import { startFake } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusOf,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { refusal } from "../support/throttling.ts";

test("at the total memory limit, refuses only callers above an equal share", async () => {
  const [heavysSecond, lightsSecond] = [latch(), latch()];
  const service = await startFake(async ({ path }) => {
    const id = experimentIn(path);
    if (id === 2) await heavysSecond.opened;
    if (id === 4) await lightsSecond.opened;
    const description = "x".repeat(id === 1 ? 92_000 : id === 3 ? 74_000 : 10);
    return { json: { ...RUNNING_RECORD, id, description } };
  });
  const gateway = await startGateway({
    upstream: service,
    // All callers together may reserve four times as much as one.
    env: { MAX_UPSTREAM_BYTES: "100000", MAX_UPSTREAM_WIDTH: "1" },
  });
  /** Reserves memory for one record while the service is asked for another one. */
  const reserve = (first: number, token: string) =>
    askFor(
      gateway,
      `{ a: experiment(id: "ada.mnist.${first}") { status } b: experiment(id: "ada.mnist.${first + 1}") { status } }`,
      token,
    );
  // Known tokens, because bytes of unverified callers count together.
  for (const token of ["heavy", "a", "b", "c", "d"]) await askFor(gateway, undefined, token);
  const heavy = reserve(1, "heavy");
  await vi.waitUntil(() => service.seen().length === 7, LONG_TIMEOUT);
  const light = ["a", "b", "c", "d"].map((token) => reserve(3, token));
  await vi.waitUntil(() => service.seen().length === 15, LONG_TIMEOUT);
  heavysSecond.open();
  expect(firstCodeOf(await heavy)).toBe("REQUEST_LIMIT_EXCEEDED");
  lightsSecond.open();
  expect((await Promise.all(light)).map(firstCodeOf)).toEqual(["ok", "ok", "ok", "ok"]);
});

test("charges the strings of commands to the memory of their caller", async () => {
  const service = await startFake(() => ({ json: RUNNING_RECORD }));
  const gateway = await startGateway({ upstream: service, env: { MAX_UPSTREAM_BYTES: "100000" } });
  const rename = (length: number) =>
    askFor(
      gateway,
      `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "${"x".repeat(length)}" }) { experiment { status } } }`,
    );
  expect([firstCodeOf(await rename(10_000)), firstCodeOf(await rename(30_000))]).toEqual([
    "ok",
    "REQUEST_LIMIT_EXCEEDED",
  ]);
  expect(service.seen().filter(({ method }) => method !== "GET")).toHaveLength(1);
});

test.each<[string, (number: number) => string]>([
  ["of unverified callers at many addresses", (number) => `X-Forwarded-For: 10.0.0.${number}`],
  ["of the same token", () => "Authorization: token light"],
  ["of many known tokens", (number) => `Authorization: token known${number}`],
])("endless request bodies %s do not block a caller", async (_, headerOf) => {
  const gateway = await startGateway({
    upstream: await startFake(() => ({ json: RUNNING_RECORD })),
    env: { MAX_OPERATIONS: "4", MAX_OPERATIONS_PER_TOKEN: "2", TRUSTED_PROXIES: "1" },
  });
  for (const token of ["light", "known0", "known1", "known2", "known3", "known4", "known5"])
    expect(await askFor(gateway, ASK_STATUS, token)).toEqual(RUNNING_ANSWER);
  const endings: string[] = [];
  for (let number = 0; number < 6; number++) {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).on("data", (chunk: Buffer) => endings.push(chunk.toString().slice(0, 12)));
    const head = `POST /graphql HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n${headerOf(number)}`;
    socket.write(`${head}\r\nContent-Length: 50000\r\n\r\n${" ".repeat(40_000)}`);
  }
  await vi.waitUntil(() => endings.length >= 2, LONG_TIMEOUT);
  expect(await askFor(gateway, ASK_STATUS, "light")).toEqual(RUNNING_ANSWER);
  expect(new Set(endings)).toEqual(new Set(["HTTP/1.1 408"]));
});

const outcomesOf = async (enter: Enter, fixture: Fixture, callers: readonly Who[]) => {
  const outcomes: Outcome[] = [];
  for (const who of callers) outcomes.push((await enter(fixture, who, "active")).outcome);
  return outcomes;
};

/** An address may have two downloads of unverified callers, and all addresses together four. */
const DOWNLOADS = { MAX_DOWNLOADS: "8", MAX_DOWNLOADS_PER_TOKEN: "2", TRUSTED_PROXIES: "1" };

test("unverified callers can use only half of the permits", async () => {
  const fixture = await startFixture({ env: DOWNLOADS });
  await fixture.accept("ada");
  const unverifiedCallers = ["1", "1", "1", "2", "2", "3"].map((host, index) => ({
    token: `invented${index}`,
    forwarded: `10.0.0.${host}`,
  }));
  expect(await outcomesOf(ENTER.download, fixture, unverifiedCallers)).toEqual([
    "in",
    "in",
    429,
    "in",
    "in",
    503,
  ]);
  expect((await ENTER.download(fixture, { token: "ada" }, "active")).outcome).toBe("in");
});

test("a token that becomes verified returns its permits to its address", async () => {
  const fixture = await startFixture({ env: DOWNLOADS });
  expect((await ENTER.download(fixture, { token: "ada" }, "active")).outcome).toBe("in");
  await fixture.accept("ada", "ada");
  const unverifiedCallers = [{ token: "invented1" }, { token: "invented2" }, { token: "invented3" }];
  expect(await outcomesOf(ENTER.download, fixture, unverifiedCallers)).toEqual(["in", "in", 429]);
});

describe("operation permits", () => {
  /** A gateway with four permits that has just started and knows ada's token, in front of a service that delays the other responses. */
  async function startCold() {
    const answering = latch();
    const service = await startFake(async ({ path, method }) => {
      if (experimentIn(path) > 1) await answering.opened;
      return { json: method === "GET" ? { ...RUNNING_RECORD, id: experimentIn(path) } : {} };
    });
    const env = { MAX_OPERATIONS: "4", MAX_OPERATIONS_PER_TOKEN: "4", TRUSTED_PROXIES: "1" };
    const gateway = await startGateway({ upstream: service, env });
    await askFor(gateway, statusOf(1), "ada");
    let sent = 1;
    /** Resolves when the request reaches the service, or with the code of the response, which is "ok" without an error. */
    const enter = async (host: number, token: string, query = statusOf(++sent)) => {
      const headers = { "x-forwarded-for": `10.0.0.${host}` };
      const before = service.seen().length;
      const code = gateway.ask(query, {}, { token, headers }).then(firstCodeOf);
      let isAnswered = false;
      void code.then(() => (isAnswered = true));
      await vi.waitUntil(() => isAnswered || service.seen().length > before, LONG_TIMEOUT);
      return { code };
    };
    return { enter, gateway, answer: () => answering.open() };
  }

  test("are all available to unverified callers at first, but can be preempted", async () => {
    const { enter, answer } = await startCold();
    const cold: Promise<string>[] = [];
    for (const token of ["cold1", "cold2", "cold3", "cold4"]) cold.push((await enter(1, token)).code);
    expect(await (await enter(1, "cold5")).code).toBe("RATE_LIMITED");
    const others = [await enter(1, "ada"), await enter(2, "other1"), await enter(3, "other2")];
    // Each address has one download now.
    expect(await (await enter(2, "other3")).code).toBe("SERVICE_OVERLOADED");
    expect(await Promise.all(cold.slice(0, 3))).toEqual(Array(3).fill("SERVICE_OVERLOADED"));
    answer();
    expect(await cold[3]).toBe("ok");
    expect(await Promise.all(others.map(({ code }) => code))).toEqual(["ok", "ok", "ok"]);
  });

  test("go to other addresses while their holders wait for a rate limit", async () => {
    let answering = latch();
    let refused = 0;
    const service = await startFake(async ({ headers, path }) => {
      if (/cold/.test(`${headers["authorization"]}`) && ++refused <= 2) return refusal(20);
      if (experimentIn(path) > 42) await answering.opened;
      return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
    });
    const { clock, advance } = fakeClock();
    const env = { MAX_OPERATIONS: "2", TRUSTED_PROXIES: "1" };
    const gateway = await startGateway({ upstream: service, env, clock });
    const askFrom = async (host: number, token: string, query = ASK_STATUS) =>
      firstCodeOf(await gateway.ask(query, {}, { token, headers: { "x-forwarded-for": `10.0.0.${host}` } }));
    for (const token of ["one", "two", "three"]) await askFrom(3, token);
    const waiting = ["cold1", "cold2"].map((token) => askFrom(1, token));
    await vi.waitUntil(() => service.seen().length === 5, LONG_TIMEOUT);
    expect(await askFrom(2, "ada")).toBe("ok");
    expect(await Promise.race(waiting)).toBe("SERVICE_OVERLOADED");
    const known = ["one", "two"].map((token) => askFrom(3, token, statusOf(43)));
    await vi.waitUntil(() => service.seen().length === 8, LONG_TIMEOUT);
    expect(await askFrom(3, "three")).toBe("SERVICE_OVERLOADED");
    answering.open();
    expect(await Promise.all(known)).toEqual(["ok", "ok"]);
    advance(20_000);
    expect((await Promise.all(waiting)).toSorted()).toEqual(["SERVICE_OVERLOADED", "ok"]);
    // As many operations run as before, so no permit was lost.
    answering = latch();
    const seen = service.seen().length;
    const last = ["one", "two"].map((token) => askFrom(3, token, statusOf(44)));
    await vi.waitUntil(() => service.seen().length === seen + 2, LONG_TIMEOUT);
    expect(await askFrom(3, "three", statusOf(44))).toBe("SERVICE_OVERLOADED");
    answering.open();
    expect(await Promise.all(last)).toEqual(["ok", "ok"]);
  });

  test("are available to a verified token despite simultaneous unverified requests", async () => {
    const { gateway, answer } = await startCold();
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const query = (id: number) =>
      `GET /graphql?query=${encodeURIComponent(statusOf(id))} HTTP/1.1\r\nHost: gateway`;
    const requests = ["cold1", "cold2", "cold3", "cold4", "ada"].map(
      (token, index) => `${query(index + 2)}\r\nAuthorization: token ${token}\r\n\r\n`,
    );
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString())).write(requests.join(""));
    answer();
    const statuses = () => [...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    await vi.waitUntil(() => statuses().length === 5, LONG_TIMEOUT);
    expect(statuses()).toEqual(["503", "200", "200", "200", "200"]);
  });

  test("are not taken from commands of unverified callers", async () => {
    const { enter, answer } = await startCold();
    const stop = `mutation { stopExperiment(id: "ada.mnist.9", force: true) { experiment { id } } }`;
    const command = await enter(1, "cold0", stop);
    for (const token of ["cold1", "cold2", "cold3", "cold4"]) await enter(1, token);
    for (const token of ["other1", "other2"]) await enter(2, token);
    answer();
    expect(await command.code).toBe("ok");
  });
});

test("sign-ins from one address use at most half of the permits", async () => {
  const fixture = await startFixture({ env: { MAX_UNVERIFIED_MUTATIONS: "4", TRUSTED_PROXIES: "1" } });
  const unverifiedCallers = ["1", "1", "1", "2", "2", "3"].map((host) => ({
    token: null,
    forwarded: `10.0.0.${host}`,
  }));
  expect(await outcomesOf(ENTER["sign-in"], fixture, unverifiedCallers)).toEqual([
    "in",
    "in",
    429,
    "in",
    "in",
    503,
  ]);
});

test("a draining gateway accepts operations", async () => {
  const fixture = await startFixture();
  fixture.drain();
  expect((await ENTER.POST(fixture, { token: "ada" }, "active")).outcome).toBe("in");
});
