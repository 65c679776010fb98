import { gzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { type Seen, startFake, type FakeResponse } from "../support/fake.ts";
import { startRaw } from "./framing.ts";
import { metricOf, reaches } from "../support/metrics.ts";
import { type Gateway, startBefore, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { startDelayedRecords } from "../support/delayed-service.ts";
import {
  askFor,
  experimentIn,
  firstCodeOf,
  jsonText,
  recordTextOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusesOf,
  statusOf,
  upTo,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";

describe("a token", () => {
  const answersTo = (
    gateway: Gateway,
    { token, from, count }: { readonly token: string; readonly from: number; readonly count: number },
  ) => Array.from({ length: count }, (_, round) => askFor(gateway, statusOf(from + round), token));

  const waiting = (gateway: Gateway, count: number) =>
    reaches(gateway, "rungraph_upstream_requests_waiting", count);

  test.each([
    ["that the service has accepted", ["heavy", "light"]],
    ["that the service has not answered yet", []],
  ])("gets space in a queue that another token would fill: tokens %s", async (_, known) => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "4" },
    });
    for (const token of known) await service.releaseUntil([askFor(gateway, statusOf(1), token)]);
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 20 });
    await vi.waitUntil(
      async () => (await metricOf(gateway, "rungraph_upstream_requests_shed_total")) > 0,
      LONG_TIMEOUT,
    );
    const light = askFor(gateway, statusOf(100), "light");
    // The service responds only now: an earlier response would free a permit.
    await Promise.race([light, waiting(gateway, 5)]);
    const [answer, ...others] = await service.releaseUntil([light, ...heavy]);
    expect(answer).toEqual(RUNNING_ANSWER);
    expect(new Set(others.map(firstCodeOf))).toEqual(new Set(["ok", "SERVICE_OVERLOADED"]));
  });

  test("is served at once if verified, despite many invalid tokens", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "8" } });
    const first = askFor(gateway, statusOf(1), "known");
    await service.arrived(1);
    service.release();
    expect(await first).toEqual(RUNNING_ANSWER);
    const invented = Array.from({ length: 20 }, (_, round) =>
      askFor(gateway, statusOf(1), `invented${round}`),
    );
    await waiting(gateway, 13);
    const known = askFor(gateway, statusOf(2), "known");
    await service.arrived(8);
    expect(service.seen().at(-1)).toBe("known");
    await service.releaseUntil([known, ...invented]);
  });

  test("gets a connection despite many invented tokens of another address", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "16", UPSTREAM_CONNECTIONS_PER_TOKEN: "8", TRUSTED_PROXIES: "1" },
    });
    const askFrom = (address: string, token: string) =>
      gateway.ask(statusOf(1), {}, { token, headers: { "x-forwarded-for": address } });
    const invented = upTo(20).map((round) => askFrom("10.0.0.1", `invented${round}`));
    await waiting(gateway, 12);
    const light = askFrom("10.0.0.2", "light");
    await service.arrived(9);
    expect(service.seen().at(-1)).toBe("light");
    await service.releaseUntil([light, ...invented]);
  });

  test("alternates with two other tokens", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "1" } });
    const first = askFor(gateway, statusOf(1), "a");
    await service.arrived(1);
    const answers = [first];
    for (const [round, token] of ["a", "b", "c"].entries()) {
      answers.push(...answersTo(gateway, { token, from: 10 * round + 2, count: 4 }));
      await waiting(gateway, 4 * (round + 1));
    }
    await service.releaseUntil(answers);
    const rounds = [1, 4, 7, 10].map((from) =>
      service
        .seen()
        .slice(from, from + 3)
        .toSorted()
        .join(""),
    );
    expect(rounds).toEqual(["abc", "abc", "abc", "abc"]);
  });

  test("gets a connection although another token wants more than its share", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "4", UPSTREAM_CONNECTIONS_PER_TOKEN: "3" },
    });
    for (const token of ["heavy", "light"]) await service.releaseUntil([askFor(gateway, statusOf(1), token)]);
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 10 });
    await waiting(gateway, 7);
    expect(service.seen().slice(2)).toEqual(["heavy", "heavy", "heavy"]);
    const light = askFor(gateway, statusOf(100), "light");
    await service.arrived(4);
    expect(service.seen().slice(2)).toEqual(["heavy", "heavy", "heavy", "light"]);
    const answers = await service.releaseUntil([light, ...heavy]);
    expect(new Set(answers.map(firstCodeOf))).toEqual(new Set(["ok"]));
  });

  test("gets one of the connections reserved for callers with fewer requests", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "16", UPSTREAM_CONNECTIONS_PER_TOKEN: "8", UPSTREAM_RATE_LIMIT: "off" },
    });
    for (const token of ["one", "other", "light"])
      await service.releaseUntil([askFor(gateway, statusOf(1), token)]);
    const heavy = ["one", "other"].flatMap((token) => answersTo(gateway, { token, from: 10, count: 10 }));
    await waiting(gateway, 6);
    const light = askFor(gateway, statusOf(100), "light");
    await service.arrived(15);
    expect(service.seen().at(-1)).toBe("light");
    await service.releaseUntil([light, ...heavy]);
  });
});

test.each<[string, (text: string) => FakeResponse]>([
  ["", jsonText],
  ["when they are decompressed ", (text) => jsonText(gzipSync(text), "gzip")],
])(
  "a caller's upstream responses %smay not exceed MAX_UPSTREAM_BYTES, and earlier results remain",
  async (_, responseTo) => {
    const { service, ...gateway } = await startBefore(() => responseTo(recordTextOf(50_000)), {
      MAX_UPSTREAM_BYTES: "125000",
      MAX_UPSTREAM_WIDTH: "1",
    });
    const { data, errors } = await askFor(gateway, statusesOf([1, 2, 3, 4]));
    const running = { status: "RUNNING" };
    expect(data).toEqual({ of1: running, of2: running, of3: null, of4: null });
    expect(errors?.map(({ path, extensions }) => [path?.[0], extensions["code"]])).toEqual([
      ["of3", "REQUEST_LIMIT_EXCEEDED"],
      ["of4", "REQUEST_LIMIT_EXCEEDED"],
    ]);
    // The third read is rejected while its response arrives, and the fourth is not sent.
    expect(service.calls()).toEqual([1, 2, 3].map((id) => `GET ada/mnist/experiments/${id}/`));
  },
);

describe("one caller's effect on others:", () => {
  const failing = () =>
    startFake(({ path }) =>
      experimentIn(path) === 1
        ? { text: "", status: 504 }
        : { json: { ...RUNNING_RECORD, id: experimentIn(path) } },
    );

  test.each([
    ["one token", () => "one"],
    ["invented tokens of one address", (round: number) => `invented${round}`],
  ])("a record failing for %s opens no circuit while other requests succeed", async (_, tokenOf) => {
    const gateway = await startGateway({ upstream: await failing() });
    expect(await askFor(gateway, statusOf(42), "other")).toEqual(RUNNING_ANSWER);
    for (let round = 0; round < 30; round++) {
      expect(firstCodeOf(await askFor(gateway, statusOf(1), tokenOf(round)))).toBe("UPSTREAM_UNAVAILABLE");
    }
    expect(await askFor(gateway, statusOf(42), "other")).toEqual(RUNNING_ANSWER);
    expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(0);
  });

  const TWELVE = upTo(12).map((id) => `caller${id}`);
  const KINDS = ["experiment", "job", "buildJob", "group"];
  const runOf = (kind: string, id: number) =>
    `{ ${kind}(id: "ada.mnist.${kind === "buildJob" ? "build" : kind}s.${id}") { status } }`;

  /** A gateway in front of an upstream that responds with 503 if `isDown`, and a fake clock. */
  async function startFailing() {
    let isDown = (_seen: Seen): boolean => false;
    const service = await startFake((seen) =>
      isDown(seen) ? { text: "", status: 503 } : { json: { ...RUNNING_RECORD, id: 1 } },
    );
    const { clock, advance } = fakeClock();
    const gateway = await startGateway({ upstream: service, clock });
    const codes = async (tokens: readonly string[], queries: readonly string[]) => {
      const all = tokens.flatMap((token) => queries.map((query) => [token, query] as const));
      const found: string[] = [];
      for (const [token, query] of all) found.push(firstCodeOf(await askFor(gateway, query, token)));
      return [...new Set(found)];
    };
    return {
      codes,
      advance,
      fail: (where: typeof isDown) => (isDown = where),
      isOpen: async () => (await metricOf(gateway, "rungraph_circuit_open")) === 1,
    };
  }

  const UNAVAILABLE = ["UPSTREAM_UNAVAILABLE"];

  test.each([
    [
      "five callers of twelve, whatever they read",
      ({ headers }: Seen) => /caller[2-6]$/.test(`${headers["authorization"]}`),
      TWELVE.slice(1, 6),
      upTo(3).flatMap((id) => KINDS.map((kind) => runOf(kind, id))),
    ],
    [
      "invented tokens of one address, whatever they read",
      ({ headers }: Seen) => /invented/.test(`${headers["authorization"]}`),
      upTo(13).map((id) => `invented${id}`),
      upTo(2).flatMap((id) => KINDS.map((kind) => runOf(kind, id))),
    ],
    [
      "an endpoint",
      ({ path }: Seen) => path.includes("/jobs/"),
      TWELVE,
      upTo(5).map((id) => runOf("job", id)),
    ],
    ["a record", ({ path }: Seen) => path.endsWith("/jobs/1/"), TWELVE, upTo(5).map(() => runOf("job", 1))],
  ])("failures of %s open no circuit while other requests succeed", async (_, where, tokens, queries) => {
    const gateway = await startFailing();
    const healthy = KINDS.map((kind) => runOf(kind, 9));
    expect(await gateway.codes(TWELVE, healthy)).toEqual(["ok"]);
    gateway.fail(where);
    expect(await gateway.codes(tokens, queries)).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(false);
    // The window has moved on, and no other caller has sent a request yet.
    gateway.advance(5_000);
    expect(await gateway.codes(tokens, queries)).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(false);
    expect(await gateway.codes(["caller1"], [statusOf(9)])).toEqual(["ok"]);
    gateway.fail(() => true);
    gateway.advance(10_000);
    expect(await gateway.codes(["caller1"], upTo(20).map(statusOf))).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(true);
  });

  test("an outage opens the circuit once half of the requests have failed", async () => {
    const gateway = await startFailing();
    const queries = KINDS.map((kind) => runOf(kind, 9));
    expect(await gateway.codes(TWELVE, queries)).toEqual(["ok"]);
    gateway.fail(() => true);
    expect(await gateway.codes(TWELVE.slice(1), queries)).toEqual(UNAVAILABLE);
    expect(await gateway.codes(["caller1"], queries.slice(0, 3))).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(false);
    expect(await gateway.codes(["caller1"], queries.slice(3))).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(true);
  });

  test("a service that fails for every token opens the circuit", async () => {
    for (const tokens of [["one"], ["one", "two"]]) {
      const gateway = await startGateway({ upstream: await failing() });
      for (let round = 0; round < 20; round++)
        await askFor(gateway, statusOf(1), tokens[round % tokens.length]);
      expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(1);
    }
  });

  test("one failing token does not reopen the circuit after a successful probe", async () => {
    const gateway = await startFailing();
    gateway.fail(({ path }) => path.endsWith("/experiments/1/"));
    const askFailing = (count: number) => gateway.codes(["one"], Array(count).fill(statusOf(1)));
    expect(await askFailing(20)).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(true);
    gateway.advance(5_000);
    expect(await askFailing(40)).toEqual(UNAVAILABLE);
    expect(await gateway.isOpen()).toBe(false);
  });

  test("a command with an endless response releases its connection soon", async () => {
    const service = await startRaw(({ write }) =>
      write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    );
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "1" } });
    const stop = `mutation { stopJob(id: "ada.mnist.jobs.3", force: true) { job { id } } }`;
    expect(firstCodeOf(await askFor(gateway, stop))).toBe("ok");
    await vi.waitUntil(() => service.open() === 0, LONG_TIMEOUT);
  });
});
