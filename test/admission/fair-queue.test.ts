import { expect, test } from "vitest";
import { FairQueue } from "../../src/callers/fair-queue.ts";

test("a queue whose concurrency decreases starts nothing until enough items end", () => {
  let limit = 8;
  const root = new FairQueue<{ readonly priority: number }>(null, { concurrency: () => limit });
  const caller = new FairQueue(root, { concurrency: () => limit / 2 });
  for (let count = 0; count < 4; count++) caller.enqueue({ priority: 1 });
  for (let count = 0; count < 3; count++) root.dequeue();
  limit = 4;
  expect([root.isReady(), root.peek()]).toEqual([false, undefined]);
  caller.release();
  expect(root.isReady()).toBe(false);
  caller.release();
  expect(root.isReady()).toBe(true);
  expect(root.dequeue()).toEqual({ priority: 1 });
});
