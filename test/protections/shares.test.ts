import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Outcome, startWorld, type Who, type World } from "../support/door-world.ts";
import { ENTER, type Enter } from "../support/doors.ts";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { startGateway } from "../support/gateway.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
} from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";

test("when all callers together hold what they may, one with more than an equal share is refused, and the others are not", async () => {
  const [heavysSecond, lightsSecond] = [gate(), gate()];
  const service = await startFake(async ({ path }) => {
    const id = experimentIn(path);
    if (id === 2) await heavysSecond.opened;
    if (id === 4) await lightsSecond.opened;
    const bytes = id === 1 ? 99_000 : id === 3 ? 80_000 : 10;
    return { json: { ...RUNNING_RECORD, id, description: "x".repeat(bytes) } };
  });
  const gateway = await startGateway({
    upstream: service,
    // All callers together may hold four times as much as one.
    env: { MAX_UPSTREAM_BYTES: "100000", MAX_UPSTREAM_WIDTH: "1" },
  });
  /** Holds one record while the service is asked for another one. */
  const hold = (first: number, token: string) =>
    askFor(
      gateway,
      `{ a: experiment(id: "ada.mnist.${first}") { status } b: experiment(id: "ada.mnist.${first + 1}") { status } }`,
      token,
    );
  const heavy = hold(1, "heavy");
  await vi.waitUntil(() => service.seen().length === 2, PATIENT);
  const light = ["a", "b", "c", "d"].map((token) => hold(3, token));
  await vi.waitUntil(() => service.seen().length === 10, PATIENT);
  heavysSecond.open();
  expect(firstCodeOf(await heavy)).toBe("REQUEST_LIMIT_EXCEEDED");
  lightsSecond.open();
  expect((await Promise.all(light)).map(firstCodeOf)).toEqual(["ok", "ok", "ok", "ok"]);
});

test.each<[string, (number: number) => string]>([
  ["of strangers at many addresses", (number) => `X-Forwarded-For: 10.0.0.${number}`],
  ["of the same token", () => "Authorization: token light"],
  ["of many known tokens", (number) => `Authorization: token known${number}`],
])("bodies that never end, %s, keep nobody out", async (_, headerOf) => {
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
    socket.on("error", () => {}).on("data", (piece: Buffer) => endings.push(piece.toString().slice(0, 12)));
    const head = `POST /graphql HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n${headerOf(number)}`;
    socket.write(`${head}\r\nContent-Length: 50000\r\n\r\n${" ".repeat(40_000)}`);
  }
  await vi.waitUntil(() => endings.length >= 2, PATIENT);
  expect(await askFor(gateway, ASK_STATUS, "light")).toEqual(RUNNING_ANSWER);
  expect(new Set(endings)).toEqual(new Set(["HTTP/1.1 408"]));
});

const outcomesOf = async (enter: Enter, world: World, callers: readonly Who[]) => {
  const outcomes: Outcome[] = [];
  for (const who of callers) outcomes.push((await enter(world, who, "active")).outcome);
  return outcomes;
};

/** An address may have two operations of callers that are not known, and all of them four. */
const OPERATIONS = { MAX_OPERATIONS: "8", MAX_OPERATIONS_PER_TOKEN: "2", TRUSTED_PROXIES: "1" };

test("strangers at many addresses have half of the places, and leave the others to known tokens", async () => {
  const world = await startWorld({ env: OPERATIONS });
  await world.accept("ada");
  const strangers = ["1", "1", "1", "2", "2", "3"].map((host, index) => ({
    token: `invented${index}`,
    forwarded: `10.0.0.${host}`,
  }));
  expect(await outcomesOf(ENTER.POST, world, strangers)).toEqual(["in", "in", 429, "in", "in", 503]);
  expect((await ENTER.POST(world, { token: "ada" }, "active")).outcome).toBe("in");
});

test("a token that becomes known leaves the places of its address to strangers, with all that it has under way", async () => {
  const world = await startWorld({ env: OPERATIONS });
  expect((await ENTER.POST(world, { token: "ada" }, "active")).outcome).toBe("in");
  await world.accept("ada");
  const strangers = [{ token: "invented1" }, { token: "invented2" }, { token: "invented3" }];
  expect(await outcomesOf(ENTER.POST, world, strangers)).toEqual(["in", "in", 429]);
});

test("those who sign in at one address have half of the places for it, and those at all addresses have all", async () => {
  const world = await startWorld({ env: { MAX_SIGN_INS: "4", TRUSTED_PROXIES: "1" } });
  const strangers = ["1", "1", "1", "2", "2", "3"].map((host) => ({
    token: null,
    forwarded: `10.0.0.${host}`,
  }));
  expect(await outcomesOf(ENTER["sign-in"], world, strangers)).toEqual(["in", "in", 429, "in", "in", 503]);
});

test("while the gateway drains nothing begins that lasts, and operations do", async () => {
  const world = await startWorld();
  world.drain();
  for (const door of ["event stream", "WebSocket"] as const)
    expect((await ENTER[door](world, { token: "ada" }, "active")).outcome).toBe(503);
  expect((await ENTER.POST(world, { token: "ada" }, "active")).outcome).toBe("in");
});
