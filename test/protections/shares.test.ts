import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Outcome, startWorld, type Who, type World } from "../support/door-world.ts";
import { ENTER, type Enter } from "../support/doors.ts";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
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

describe("bodies that never end", () => {
  /** Begins bodies of 50 kB, of which 40 come, and waits until so many are refused. */
  async function begin(
    { url }: Pick<Gateway, "url">,
    { count, refusals }: { readonly count: number; readonly refusals: number },
    headerOf: (number: number) => string,
  ) {
    const received = Array.from({ length: count }, (_, number) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      let text = "";
      socket.on("error", () => {}).on("data", (piece: Buffer) => (text += piece.toString()));
      const head = `POST /graphql HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n${headerOf(number)}`;
      socket.write(`${head}\r\nContent-Length: 50000\r\n\r\n${" ".repeat(40_000)}`);
      return () => text;
    });
    const refused = () => received.filter((text) => text().startsWith("HTTP/1.1 503")).length;
    await vi.waitUntil(() => refused() === refusals, PATIENT);
    return received;
  }

  const start = async (...tokens: readonly string[]) => {
    const gateway = await startGateway({
      upstream: await startFake(() => ({ json: RUNNING_RECORD })),
      env: { MAX_WAITING_BYTES: "200000", MAX_BODY_BYTES: "60000", TRUSTED_PROXIES: "1" },
    });
    for (const token of tokens) expect(await askFor(gateway, ASK_STATUS, token)).toEqual(RUNNING_ANSWER);
    return gateway;
  };

  /** A document that comes in several pieces. */
  const LONG = ASK_STATUS.padEnd(50_000);

  test("of strangers at many addresses fill half of what may wait, and leave the other half to known tokens", async () => {
    const gateway = await start("light");
    await begin(gateway, { count: 4, refusals: 2 }, (number) => `X-Forwarded-For: 10.0.0.${number}`);
    expect(await askFor(gateway, LONG, "light")).toEqual(RUNNING_ANSWER);
  });

  test("of a known token fill half of what may wait, and leave the other half to others", async () => {
    const gateway = await start("heavy", "light");
    await begin(gateway, { count: 4, refusals: 2 }, () => "Authorization: token heavy");
    expect(await askFor(gateway, LONG, "light")).toEqual(RUNNING_ANSWER);
  });

  test("of many known tokens fill no more than what may wait", async () => {
    const tokens = ["a", "b", "c", "d", "e", "f"];
    const gateway = await start(...tokens);
    const room = { count: 6, refusals: 1 };
    const received = await begin(gateway, room, (number) => `Authorization: token ${tokens[number]}`);
    expect(received.map((text) => text().slice(9, 12)).toSorted()).toEqual(["", "", "", "", "", "503"]);
  });
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
