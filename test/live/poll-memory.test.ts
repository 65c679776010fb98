import { expect, test, vi } from "vitest";
import { createTailPoll } from "../../src/live/tail-poll.ts";
import { writeResponse } from "../support/fake.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { globalId } from "../support/ids.ts";
import { experimentId, FIRST_POLL, rowOf, startLive } from "../support/live-service.ts";

/*
 * Data that polls keep between reads counts against MAX_UPSTREAM_BYTES of their caller, as long as its subscriptions last.
 */

const LONG = "x".repeat(50_000);

test.each([
  ["the record of a run", (id: number) => `runUpdated(id: "${experimentId(id)}") { reason }`],
  ["a list of runs", (id: number) => `runsUpdated(of: "${globalId(`Project:ada/p${id}`)}") { reason }`],
])("a poll retains %s only within its caller's memory budget", async (_, field) => {
  const { subscribe, advance, settle, subscriptions } = await startLive([], {
    // The limit fits a response and its cached record, but not a second cached record.
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_UPSTREAM_BYTES: "125000" },
    answer: ({ path }) => {
      const record = { ...rowOf({ id: 1, last_status: "running" }), description: LONG };
      return { json: path.includes("?") ? { count: 1, next: null, results: [record] } : record };
    },
  });
  const watch = (id: number) => subscribe({ query: `subscription { ${field(id)} }` });
  const first = await watch(1);
  advance(FIRST_POLL);
  expect(await first.next()).toMatchObject({ data: expect.anything() });
  const second = await watch(2);
  const reported = vi.fn<() => void>();
  const event = second.next().finally(reported);
  advance(FIRST_POLL);
  await settle();
  expect(reported).not.toHaveBeenCalled();
  first.leave();
  await subscriptions(1);
  while (reported.mock.calls.length === 0) {
    await settle();
    advance(1_000);
  }
  expect(await event).toMatchObject({ data: expect.anything() });
});

test("a read that ends after its last subscriber left retains no memory", async () => {
  const answers: (() => void)[] = [];
  const { watch, advance, subscriptions, requests, settle } = await startLive([], {
    env: { MAX_UPSTREAM_BYTES: "150000" },
    answer: () => (response) =>
      void answers.push(() =>
        writeResponse(response, {
          json: { ...rowOf({ id: 1, last_status: "running" }), description: LONG },
        }),
      ),
  });
  for (const id of [1, 2, 3, 4]) {
    const watcher = await watch(id);
    advance(FIRST_POLL);
    await requests(id);
    watcher.leave();
    await subscriptions(0);
    answers.at(-1)?.();
    await settle();
  }
  const last = await watch(5);
  advance(FIRST_POLL);
  await requests(5);
  answers.at(-1)?.();
  expect(await last.next()).toMatchObject({ data: expect.anything() });
});

test("a poll that gets no memory for a minute ends its stream", async () => {
  const { watch, advance, settle } = await startLive([], {
    env: { MAX_UPSTREAM_BYTES: "60000" },
    answer: () => ({ json: { ...rowOf({ id: 1, last_status: "running" }), description: LONG } }),
  });
  const watcher = await watch(1);
  for (let seconds = 0; seconds < 62; seconds++) {
    advance(1_000);
    await settle();
  }
  expect(await watcher.next()).toMatchObject({
    data: null,
    errors: [{ path: ["runUpdated"], extensions: { code: "REQUEST_LIMIT_EXCEEDED" } }],
  });
  expect(await watcher.next()).toBe(null);
});

// This test calls the code directly, without HTTP, because system buffers hold more than the items of a test.
test("items are charged until each subscriber has received them or left", async () => {
  const kept: number[] = [];
  let items = ["one", "two"];
  const read = async () => ({ items, bytes: 100 * items.length, position: "end", hasMore: false });
  const poll = createTailPoll(
    read,
    (bytes) => kept.push(bytes),
    fakeClock().clock,
    () => {},
  );
  poll.setRunOver(false);
  const [slow, quick] = [poll.subscribe("start", () => {}), poll.subscribe("start", () => {})];
  const first = [slow.next(), quick.next()];
  // Safe: the source reads without it.
  const session = {} as Parameters<typeof poll.read>[0];
  expect(await poll.read(session, () => 0)).toBe(true);
  expect((await Promise.all(first)).map(({ value }) => value?.value)).toEqual(["one", "one"]);
  expect((await quick.next()).value?.value).toBe("two");
  expect(kept).toEqual([200]);
  items = ["three"];
  const third = quick.next();
  await poll.read(session, () => 0);
  expect((await third).value?.value).toBe("three");
  expect(kept).toEqual([200, 300, 200]);
  await slow.return();
  expect(kept.at(-1)).toBe(0);
});
