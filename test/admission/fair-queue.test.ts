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

test("a queue may exceed a reduced concurrency again afterwards", () => {
  let limit = 3;
  const root = new FairQueue<{ readonly priority: number }>(null, {
    concurrency: () => limit,
    burst: () => 1,
  });
  const [slow, next, last] = [0, 1, 2].map(() => new FairQueue(root, { concurrency: () => 3 }));
  const start = (caller: typeof slow) => (caller?.enqueue({ priority: 1 }), root.isReady() && root.dequeue());
  for (let count = 0; count < 3; count++) start(slow);
  limit = 2;
  expect(start(next)).toEqual({ priority: 1 });
  // The only place above the limit is taken until its item ends.
  expect(start(last)).toBe(false);
  next?.release();
  expect(root.isReady()).toBe(true);
  expect(root.dequeue()).toEqual({ priority: 1 });
});
