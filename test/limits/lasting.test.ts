import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate as nextTick } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { LONG_FROM, send, startFixture, type Fixture } from "../support/admission-fixture.ts";
import { openSocket } from "../support/admission.ts";
import { globalId } from "../support/ids.ts";
import { FIRST_POLL, RUN_UPDATED } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

/** A duration that no other timer has, in milliseconds. */
const READ_TIMEOUT_MS = 7_000;
const ONE_DOWNLOAD = { READ_TIMEOUT_MS: `${READ_TIMEOUT_MS}`, MAX_DOWNLOADS_PER_TOKEN: "1" };
const FILE_BYTES = 18_000_000;
const ADA = { token: "ada" };

const download = (fixture: Fixture) => {
  const id = globalId(`Experiment:ada/mnist/${LONG_FROM + fixture.next()}`);
  const asked = send(fixture, ADA, { path: `/downloads/${id}/outputs` });
  asked.sent.end();
  return asked;
};

const isWaiting = (fixture: Fixture) => fixture.timers().includes(fixture.now() + READ_TIMEOUT_MS);

/** A download that the client has not read yet. Resolves when the gateway waits for the client. */
async function unread(fixture: Fixture) {
  const { response, closed } = download(fixture);
  const received = await response;
  await once(received, "readable");
  await vi.waitUntil(() => isWaiting(fixture), LONG_TIMEOUT);
  return { received, closed };
}

test("a download that is read too slowly releases its permit after READ_TIMEOUT_MS", async () => {
  const fixture = await startFixture({ env: ONE_DOWNLOAD });
  await fixture.accept("ada");
  const { received } = await unread(fixture);
  for (let drop = 0; drop < 4; drop++) {
    expect((await download(fixture).response).statusCode).toBe(429);
    expect(received.read(4_096)).toHaveLength(4_096);
    fixture.advance(READ_TIMEOUT_MS / 4);
  }
  await vi.waitFor(async () => expect((await download(fixture).response).statusCode).toBe(200), LONG_TIMEOUT);
});

/** Reads part of the file. Stops when it has enough, or when the gateway waits with a further chunk. Returns the number of bytes read. */
async function readOn(fixture: Fixture, received: IncomingMessage): Promise<number> {
  let bytes = 0;
  while (bytes < FILE_BYTES / 9 && !isWaiting(fixture) && !received.readableEnded && !received.destroyed) {
    // Safe: no encoding is set.
    bytes += (received.read() as Buffer | null)?.length ?? 0;
    await nextTick();
  }
  return bytes;
}

test("a download that is read slowly but steadily completes, whatever its size", async () => {
  const idleMs = 123_456;
  const env = { ...ONE_DOWNLOAD, MAX_WAITING_BYTES: "1000000", UPSTREAM_IDLE_TIMEOUT_MS: `${idleMs}` };
  const fixture = await startFixture({ env });
  const { mock } = vi.spyOn(Socket.prototype, "setTimeout");
  onTestFinished(() => void vi.restoreAllMocks());
  await fixture.accept("ada");
  const { received } = await unread(fixture);
  received.on("error", () => {});
  // The service is not silent: its bytes wait for the client. Safe: the timeout belongs to a socket.
  const upstream = mock.contexts[mock.calls.findIndex(([ms]) => ms === idleMs)] as Socket;
  await vi.waitUntil(() => upstream.isPaused(), LONG_TIMEOUT);
  upstream.emit("timeout");
  const began = fixture.now();
  let bytes = 0;
  while (!received.readableEnded && !received.destroyed) {
    fixture.advance(READ_TIMEOUT_MS / 2);
    bytes += await readOn(fixture, received);
  }
  expect(bytes).toBe(FILE_BYTES);
  expect(fixture.now() - began).toBeGreaterThan(READ_TIMEOUT_MS);
});

test("pauses reading a WebSocket while many of its documents are unanswered", async () => {
  const fixture = await startFixture();
  const { socket, sendMessage } = await openSocket(fixture, ADA);
  stopwatchRuns();
  const documents = 400;
  let answered = 0;
  const isRead = new Promise<void>((resolve) => {
    socket.on("message", (message: Buffer) => {
      if (message.toString().includes('"pong"')) resolve();
      else answered++;
    });
  });
  for (let number = 0; number < documents; number++) {
    const query = `subscription { invalid${number} } #${"x".repeat(8_000)}`;
    sendMessage({ type: "subscribe", id: `${number}`, payload: { query } });
  }
  // The response to this message shows that the gateway has read all earlier ones.
  sendMessage({ type: "ping" });
  await isRead;
  // The last chunk that was read also contained some later messages.
  expect(documents - answered).toBeLessThan(64);
});

test("closes a WebSocket that does not send connection_init in time", async () => {
  const fixture = await startFixture();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const { closed } = await openSocket(fixture, ADA, false);
  const isSet = () => timers.mock.calls.find(([, ms]) => ms === 3_000);
  await vi.waitUntil(isSet, LONG_TIMEOUT);
  isSet()?.[0]();
  expect(await closed).toBe(4408);
});

/** Lets time pass for a client that answers pings. */
async function pass(
  fixture: Fixture,
  { socket, sendMessage }: Awaited<ReturnType<typeof openSocket>>,
  ms: number,
) {
  for (const end = fixture.now() + ms; fixture.now() < end;) {
    fixture.advance(Math.min(10_000, end - fixture.now()));
    if (fixture.now() === end) return;
    const answer = once(socket, "message");
    sendMessage({ type: "ping" });
    await answer;
  }
}

test("closes a WebSocket after a minute without a subscription", async () => {
  const fixture = await startFixture();
  const opened = await openSocket(fixture, ADA);
  const completed = new Promise<void>((resolve) =>
    opened.socket.on("message", (text: Buffer) => text.includes('"complete"') && resolve()),
  );
  opened.sendMessage({ type: "subscribe", id: "1", payload: { query: "{ __typename }" } });
  await completed;
  await pass(fixture, opened, 59_999);
  expect(opened.socket.readyState).toBe(opened.socket.OPEN);
  fixture.advance(1);
  expect(await opened.closed).toBe(1000);
});

test("keeps a WebSocket open for a minute after its last subscription ends", async () => {
  const fixture = await startFixture();
  await fixture.accept("ada");
  const opened = await openSocket(fixture, ADA);
  const number = fixture.next();
  const variables = { id: globalId(`Experiment:ada/mnist/${number}`) };
  for (const id of ["1", "2"])
    opened.sendMessage({ type: "subscribe", id, payload: { query: RUN_UPDATED, variables } });
  await vi.waitUntil(() => fixture.timers().includes(fixture.now() + FIRST_POLL), LONG_TIMEOUT);
  await pass(fixture, opened, 125_000);
  opened.sendMessage({ type: "complete", id: "1" });
  await pass(fixture, opened, 125_000);
  expect(opened.socket.readyState).toBe(opened.socket.OPEN);
  opened.sendMessage({ type: "complete", id: "2" });
  await vi.waitUntil(() => fixture.timers().includes(fixture.now() + 60_000), LONG_TIMEOUT);
  await pass(fixture, opened, 60_000);
  expect(await opened.closed).toBe(1000);
});
