import { once } from "node:events";
import { setImmediate as nextTick } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { experimentId, RUN_UPDATED, startLive } from "../support/live-service.ts";
import { LONG_TIMEOUT, withoutPings } from "../support/long-timeout.ts";
import { openSocket } from "../support/admission.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

test("disconnects a client that sends but does not read, without logging errors", async () => {
  withoutPings();
  const { url, advance } = await startLive([{ id: 1, last_status: "running" }]);
  const reported = vi.spyOn(console, "error");
  const { socket } = await openSocket({ url }, { token: "t0ken" });
  // The subscription keeps the connection from being idle.
  const payload = { query: RUN_UPDATED, variables: { id: experimentId(1) } };
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload }));
  socket.pause();
  const query = `{ __schema { types { name fields { name } } } }${" ".repeat(1_000)}`;
  const lost = vi.fn<() => void>();
  for (let sent = 0; sent < 20_000; sent++)
    socket.send(
      JSON.stringify({ id: `${sent + 2}`, type: "subscribe", payload: { query } }),
      (error) => error && lost(),
    );
  // The gateway reads no further message from the connection.
  let buffered = -1;
  const isStill = () => buffered === (buffered = socket.bufferedAmount);
  await vi.waitUntil(isStill, { ...LONG_TIMEOUT, interval: 500 });
  expect(buffered).toBeGreaterThan(0);
  await vi.waitUntil(() => (advance(1_000), lost.mock.calls.length > 0), { ...LONG_TIMEOUT, interval: 50 });
  expect(reported.mock.calls).toEqual([]);
});

test("a message above MAX_BODY_BYTES closes the connection without logging an error", async () => {
  const { url } = await startLive([], { env: { MAX_BODY_BYTES: "2000" } });
  const reported = vi.spyOn(console, "error");
  const { socket, closed } = await openSocket({ url }, { token: null });
  socket.send("x".repeat(2_001));
  expect([await closed, reported.mock.calls]).toEqual([1_009, []]);
});

/** A message of `bytes` bytes. */
function paddedMessage(message: object, bytes: number): string {
  const text = (padding: string) => JSON.stringify({ ...message, payload: { padding } });
  return text("x".repeat(bytes - text("").length));
}

test.each([
  ["connection_init", false],
  ["ping", true],
  ["pong", true],
  ["complete", true],
])("limits a %s message to 64 kB, unlike a subscribe message", async (type, isOpen) => {
  const { url } = await startLive([]);
  const visit = async (bytes: number) => {
    const { socket, closed } = await openSocket({ url }, { token: null }, isOpen);
    const reason = new Promise((resolve) => socket.once("close", (_, text) => resolve(`${text}`)));
    const answers: unknown[] = [];
    socket.on("message", (data) => answers.push(JSON.parse(`${data as Buffer}`)));
    socket.send(paddedMessage({ type, id: "1" }, bytes));
    const query = `{ __typename } # ${"x".repeat(65_536)}`;
    if (isOpen) socket.send(JSON.stringify({ id: "2", type: "subscribe", payload: { query } }));
    const expected = { connection_init: 1, ping: 3 }[type] ?? 2;
    await Promise.race([closed, vi.waitUntil(() => answers.length === expected, LONG_TIMEOUT)]);
    return { socket, closed, reason, answers };
  };
  const within = await visit(65_536);
  expect(within.socket.readyState).toBe(WebSocket.OPEN);
  const next = { id: "2", type: "next", payload: { data: { __typename: "Query" } } };
  const result = [next, { id: "2", type: "complete" }];
  const pong = type === "ping" ? [{ type: "pong" }] : [];
  expect(within.answers).toEqual(isOpen ? [...pong, ...result] : [{ type: "connection_ack" }]);
  const beyond = await visit(65_537);
  expect(beyond.answers).toEqual([]);
  const reason = "Expected at most 65536 bytes, or a subscribe message";
  expect([await beyond.closed, await beyond.reason]).toEqual([4_400, reason]);
});

test("reads one of many simultaneous messages per tick of the event loop", async () => {
  const { url } = await startLive([]);
  const { socket } = await openSocket({ url }, { token: null });
  const answered = vi.fn<() => void>();
  socket.on("message", answered);
  let ticks = 0;
  const countTicks = (): void => {
    ticks++;
    if (answered.mock.calls.length < 3_000) setImmediate(countTicks);
  };
  for (let sent = 0; sent < 3_000; sent++) socket.send(JSON.stringify({ type: "ping" }));
  countTicks();
  await vi.waitUntil(() => answered.mock.calls.length === 3_000, LONG_TIMEOUT);
  expect(ticks).toBeGreaterThanOrEqual(3_000);
});

test("accepts at most 16 fragments per message", async () => {
  const { socket, closed } = await openSocket(await startLive([]), { token: null });
  const send = (text: string): void => {
    for (const part of text) socket.send(part, { fin: false });
    socket.send("", { fin: true });
  };
  send('{"type":"ping"}');
  const [answer] = await once(socket, "message");
  send('{"type":"ping"} ');
  expect([String(answer), await closed]).toEqual(['{"type":"pong"}', 1_008]);
});

test("a pong does not repeat the payload of its ping", async () => {
  const { socket } = await openSocket(await startLive([]), { token: null });
  socket.send('{"type":"ping","payload":{"number":1e20}}');
  expect(String((await once(socket, "message"))[0])).toBe('{"type":"pong"}');
});

test("disconnects a client if fragments of a message retain too much memory", async () => {
  const { url } = await startLive([], { env: { MAX_WAITING_BYTES: "200000" } });
  const { socket, closed } = await openSocket({ url }, { token: null });
  for (const part of '{"type"') {
    socket.send(part, { fin: false });
    for (let sent = 0; sent < 1_000; sent++) socket.pong("x".repeat(125));
  }
  expect(await closed).toBe(1_006);
});

test("disconnects clients if waiting messages retain too much memory", async () => {
  const { url } = await startLive([], { env: { MAX_WAITING_BYTES: "300000" } });
  const clients = await Promise.all(Array.from({ length: 60 }, () => openSocket({ url }, { token: null })));
  const ping = paddedMessage({ type: "ping" }, 60_000);
  stopwatchRuns();
  const ends = clients.map(({ socket, closed }) => Promise.race([closed, once(socket, "message")]));
  for (const [index, { socket }] of clients.entries()) {
    socket.send(ping);
    // A few messages arrive at a time, faster than they are read.
    if (index % 3 === 2) await nextTick();
  }
  const codes = (await Promise.all(ends)).filter((end) => typeof end === "number");
  expect(new Set(codes)).toEqual(new Set([1_006]));
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.length).toBeLessThan(60);
});

test("reads simultaneous messages of many clients in time slices", async () => {
  const { url } = await startLive([]);
  const clients = await Promise.all(Array.from({ length: 50 }, () => openSocket({ url }, { token: null })));
  let tick = 0;
  let isOver = false;
  const countTicks = (): void => {
    tick++;
    if (!isOver) setImmediate(countTicks);
  };
  const ticks: number[] = [];
  const { send } = WebSocket.prototype;
  const answered = vi.spyOn(WebSocket.prototype, "send").mockImplementation(function (
    this: WebSocket,
    ...given
  ) {
    if (given[0] === '{"type":"pong"}') ticks.push(tick);
    Reflect.apply(send, this, given);
  });
  onTestFinished(() => answered.mockRestore());
  stopwatchRuns();
  const pongs = clients.map(({ socket }) => once(socket, "message"));
  for (const { socket } of clients) socket.send('{"type":"ping"}');
  countTicks();
  await Promise.all(pongs);
  isOver = true;
  expect(ticks).toHaveLength(50);
  expect(new Set(ticks).size).toBeGreaterThan(25);
});
