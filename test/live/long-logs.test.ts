import type { ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { latch } from "../support/latch.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { chunkOf, chunksOf, startLongLog, textOf } from "./long-log.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import type { Subscriber } from "../support/subscriber.ts";

const LOG = "GET ada/mnist/experiments/1/logs/";
const RUN = "GET ada/mnist/experiments/1/";

/** The full system buffers of two connections hold less than 24 megabytes. */
const MEGABYTE = 1_000_000;

/** A log of lines with characters of one to four bytes, none of which divides the size of a chunk. */
function logOf(bytes: number, word = "épo€ 😀"): Buffer {
  const line = Buffer.from(`${word} loss 0.123456789\n`);
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / line.length) }, () => line));
}

test("following a finished run's log reads the log once, then ends", async () => {
  const log = logOf(4 * MEGABYTE);
  const { service, watch, advance, inOrder, moved } = await startLongLog(() => log);
  service.status = "succeeded";
  const reader = await watch();
  advance(FIRST_POLL);
  const chunks = await chunksOf(reader);
  expect(textOf(chunks)).toBe(log.toString());
  expect(chunks).toHaveLength(Math.ceil(log.length / 262_144));
  expect(await chunkOf(reader)).toBe(null);
  expect(inOrder()).toEqual([RUN, LOG]);
  expect(moved()).toBe(log.length);
});

test("does not reread a log whose length is unchanged", async () => {
  const log = logOf(MEGABYTE);
  const { service, watch, advance, reach, settle, requests, inOrder, moved } = await startLongLog(() => log);
  const reader = await watch();
  advance(FIRST_POLL);
  expect(textOf(await chunksOf(reader))).toBe(log.toString());
  service.sendBody = () => {};
  for (const at of [1_000, 2_000, 4_000]) {
    await settle();
    await reach(at);
  }
  expect((await requests(8)).slice(2).toSorted()).toEqual([RUN, RUN, RUN, LOG, LOG, LOG]);
  service.status = "succeeded";
  await settle();
  await reach(5_000);
  expect(await chunkOf(reader)).toBe(null);
  expect(inOrder().slice(8).toSorted()).toEqual([RUN, LOG, LOG]);
  expect(moved()).toBe(log.length);
});

test("reads a long log no faster than its subscriber, with one request", async () => {
  const log = logOf(24 * MEGABYTE);
  const { watch, advance, paused, inOrder, moved } = await startLongLog(() => log);
  const reader = await watch();
  advance(FIRST_POLL);
  const first = await chunkOf(reader);
  await paused();
  expect(moved()).toBeLessThan(log.length);
  const chunks = [...(first ? [first] : []), ...(await chunksOf(reader))];
  expect(textOf(chunks) === log.toString()).toBe(true);
  expect(inOrder()).toEqual([RUN, LOG]);
  expect(moved()).toBe(log.length);
});

test.each(["before", "in the middle of"])(
  "a subscriber that leaves %s a long log cancels the request",
  async (when) => {
    const log = logOf(24 * MEGABYTE);
    const { service, ...live } = await startLongLog(() => log);
    const { watch, advance, closed, requests, subscriptions, inOrder, moved } = live;
    const { sendBody } = service;
    const begun = latch();
    service.sendBody = (...body) => void begun.opened.then(() => sendBody(...body));
    const reader = await watch();
    advance(FIRST_POLL);
    await requests(2);
    if (when !== "before") begun.open();
    if (when !== "before") await chunkOf(reader);
    reader.leave();
    await subscriptions(0);
    begun.open();
    await closed();
    expect(inOrder()).toEqual([RUN, LOG]);
    expect(moved()).toBeLessThan(log.length);
  },
);

test("subscribers with one token share a log request even after one leaves", async () => {
  const log = logOf(4 * MEGABYTE);
  const { watch, advance, inOrder, moved } = await startLongLog(() => log);
  const readers = [await watch(), await watch(), await watch()];
  advance(FIRST_POLL);
  const [one, other] = await Promise.all(
    readers.map(async (reader, index) => {
      if (index < 2) return textOf(await chunksOf(reader));
      await chunkOf(reader);
      reader.leave();
      return "";
    }),
  );
  expect([one === log.toString(), other === log.toString()]).toEqual([true, true]);
  expect(inOrder()).toEqual([RUN, LOG]);
  expect(moved()).toBe(log.length);
});

test("a stalled subscriber delays others only briefly, then gets its own request", async () => {
  const log = logOf(24 * MEGABYTE);
  const { watch, advance, inOrder } = await startLongLog(() => log);
  const slow = await watch();
  const quick = await watch();
  /** Reads the log while time passes. */
  const all = async (reader: Subscriber) => {
    let isRead = false;
    const chunks = chunksOf(reader).finally(() => (isRead = true));
    await vi.waitUntil(() => {
      advance(100);
      return isRead;
    }, LONG_TIMEOUT);
    return textOf(await chunks);
  };
  expect((await all(quick)) === log.toString()).toBe(true);
  expect((await all(slow)) === log.toString()).toBe(true);
  expect(inOrder().filter((request) => request === LOG).length).toBeGreaterThan(1);
});

test("a stalled subscriber loses nothing when waiting subscribers leave", async () => {
  const log = logOf(24 * MEGABYTE);
  const { watch, advance, paused, subscriptions } = await startLongLog(() => log);
  const slow = await watch();
  const quick = [await watch(), await watch()];
  advance(FIRST_POLL);
  const left = quick.map((reader) => chunksOf(reader).catch(() => "left"));
  for (const [index, reader] of quick.entries()) {
    await paused();
    reader.leave();
    await subscriptions(2 - index);
  }
  expect(textOf(await chunksOf(slow)) === log.toString()).toBe(true);
  expect(await Promise.all(left)).toEqual(["left", "left"]);
});

test("a truncated log response is resumed with another request, without an error", async () => {
  const log = logOf(3 * MEGABYTE);
  const { service, watch, advance, inOrder } = await startLongLog(() => log);
  const { sendBody } = service;
  service.sendBody = (response: ServerResponse) => {
    service.sendBody = sendBody;
    response.write(log.subarray(0, MEGABYTE), () => response.destroy());
  };
  const reader = await watch();
  advance(FIRST_POLL);
  expect(textOf(await chunksOf(reader))).toBe(log.toString());
  expect(inOrder()).toEqual([RUN, LOG, LOG]);
});
