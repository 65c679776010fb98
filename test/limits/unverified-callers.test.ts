import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { statusOf, WEB_SOCKET } from "../http/raw-socket.ts";
import { AT_ONCE, startFixture, type Who } from "../support/admission-fixture.ts";
import { ENTER, openSocket } from "../support/admission.ts";
import { globalId } from "../support/ids.ts";
import { LONG_TIMEOUT, NO_DEADLINES } from "../support/long-timeout.ts";
import { DEFAULTS } from "../support/test-settings.ts";

const many = <Value>(count: number, valueOf: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => valueOf(index));

test.each([
  ["without a token", () => null],
  ["with invented tokens", (index: number) => `invented${index}`],
])("idle WebSockets %s do not block other callers at their address", async (_, tokenOf) => {
  const fixture = await startFixture({ env: { MAX_SUBSCRIPTIONS: "16", MAX_SUBSCRIPTIONS_PER_TOKEN: "1" } });
  await fixture.accept("ada", "bob");
  const known = await openSocket(fixture, { token: "bob" });
  for (const index of many(20, Number)) await openSocket(fixture, { token: tokenOf(index) });
  expect((await openSocket(fixture, { token: "invented-late" })).outcome).toBe("in");
  expect((await openSocket(fixture, { token: "ada" })).outcome).toBe("in");
  expect((await openSocket(fixture, { token: "ada", byHeader: true })).outcome).toBe("in");
  known.sendMessage({ type: "ping" });
  expect(await Promise.race([once(known.socket, "message"), known.closed])).toBeInstanceOf(Array);
});

test("a WebSocket gets the only permit after failed handshakes", async () => {
  const fixture = await startFixture({ env: { MAX_SUBSCRIPTIONS: "1", MAX_SUBSCRIPTIONS_PER_TOKEN: "1" } });
  for (let times = 0; times < 3; times++)
    expect(await statusOf(fixture.url, "GET /graphql HTTP/1.1", "Host: a", WEB_SOCKET.slice(0, 66))).toBe(
      "400 Bad Request",
    );
  expect((await openSocket(fixture, { token: "invented1" })).outcome).toBe("in");
});

test("one token opens 120 event streams at once although MAX_OPERATIONS_PER_TOKEN is 1", async () => {
  const fixture = await startFixture({
    env: { ...DEFAULTS, ...NO_DEADLINES, MAX_OPERATIONS_PER_TOKEN: "1" },
  });
  await fixture.accept("ada");
  const fields = many(90, (index) => `f${index}: name`).join(" ");
  // All documents differ, so each must be parsed in the caller's share of time.
  const variables = { id: globalId(`Experiment:ada/mnist/${AT_ONCE}`) };
  const requestOf = (number: number) => {
    const query = `subscription S${number}($id: ID!) { runUpdated(id: $id) { reason run { ${fields} } } }`;
    const body = JSON.stringify({ query, variables });
    const head =
      "POST /graphql HTTP/1.1\r\nHost: gateway\r\nAuthorization: token ada\r\nAccept: text/event-stream\r\n";
    return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  const sockets = many(120, () => connect(Number(new URL(fixture.url).port), "127.0.0.1"));
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const answers = sockets.map((socket) => once(socket, "data"));
  // All requests arrive in one tick of the event loop.
  sockets.forEach((socket, number) => socket.write(requestOf(number)));
  const lines = (await Promise.all(answers)).map(([data]) => String(data).split("\r\n", 1)[0]);
  expect(new Set(lines)).toEqual(new Set(["HTTP/1.1 200 OK"]));
});

test.each([
  ["behind different client addresses", "1"],
  ["that share the proxy's address", ""],
])("200 pending sign-ins block neither 40 others %s nor verified tokens", async (_, trusted) => {
  const fixture = await startFixture({ env: { ...DEFAULTS, ...NO_DEADLINES, TRUSTED_PROXIES: trusted } });
  await fixture.accept("ada");
  const unverifiedCaller = many(200, () => ({ token: null, forwarded: "10.0.0.1" }));
  const others = many(40, (index) => ({ token: null, forwarded: `10.0.1.${index}` }));
  const refused = { unverifiedCaller: 0, others: 0 };
  const signIn = async (who: Who, name: keyof typeof refused) => {
    const { outcome } = await ENTER["sign-in"](fixture, who, "active");
    if (outcome !== "in") refused[name]++;
  };
  for (const who of unverifiedCaller) void signIn(who, "unverifiedCaller");
  for (const who of others) void signIn(who, "others");
  const under = async () =>
    (await fixture.metric("rungraph_upstream_requests_running")) +
    (await fixture.metric("rungraph_upstream_requests_waiting"));
  await vi.waitUntil(
    async () => (await under()) + refused.unverifiedCaller + refused.others === 240,
    LONG_TIMEOUT,
  );
  expect(refused).toEqual({ unverifiedCaller: 0, others: 0 });
  expect(await fixture.ask("{ __typename }", {}, { token: "ada" })).toEqual({
    data: { __typename: "Query" },
  });
});

test("callers without tokens do not preempt an operation that awaits its body", async () => {
  const fixture = await startFixture({ env: { MAX_OPERATIONS: "1" } });
  await fixture.accept("ada", "bob");
  const idle = await ENTER.POST(fixture, { token: "ada" }, "idle");
  expect((await ENTER.POST(fixture, { token: null }, "active")).outcome).toBe(503);
  expect((await ENTER.POST(fixture, { token: "bob" }, "active")).outcome).toBe("in");
  await idle.closed;
});
