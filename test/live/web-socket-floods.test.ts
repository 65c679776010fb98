import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startLive } from "../support/live-service.ts";
import { PATIENT } from "../support/patience.ts";

const MESSAGES = 32_000;

test("a client that sends and does not read is not read from, until it has read what waits for it", async () => {
  const { url, timers } = await startLive([]);
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws");
  onTestFinished(() => socket.terminate());
  const answered = vi.fn<() => void>();
  socket.once("open", () => socket.send(JSON.stringify({ type: "connection_init" })));
  await once(socket, "message");
  socket.on("message", answered);
  socket.pause();
  const ping = JSON.stringify({ type: "ping", payload: { text: "x".repeat(1_000) } });
  for (let sent = 0; sent < MESSAGES; sent++) socket.send(ping);
  // Each answer that waits has a timer.
  let most = 0;
  let samples = 0;
  await vi.waitUntil(() => {
    samples = timers().length === most ? samples + 1 : 0;
    most = Math.max(most, timers().length);
    return samples === 40;
  }, PATIENT);
  expect(most).toBeLessThan(MESSAGES / 4);
  socket.resume();
  await vi.waitUntil(() => answered.mock.calls.length === MESSAGES, PATIENT);
});

test("many messages that come at once are read one in each turn of the event loop", async () => {
  const { url } = await startLive([]);
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws");
  onTestFinished(() => socket.terminate());
  socket.once("open", () => socket.send(JSON.stringify({ type: "connection_init" })));
  await once(socket, "message");
  const answered = vi.fn<() => void>();
  socket.on("message", answered);
  let turns = 0;
  const countTurns = (): void => {
    turns++;
    if (answered.mock.calls.length < 3_000) setImmediate(countTurns);
  };
  for (let sent = 0; sent < 3_000; sent++) socket.send(JSON.stringify({ type: "ping" }));
  countTurns();
  await vi.waitUntil(() => answered.mock.calls.length === 3_000, PATIENT);
  expect(turns).toBeGreaterThanOrEqual(3_000);
});
