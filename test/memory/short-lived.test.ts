import { runInNewContext } from "node:vm";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CallerRegistry } from "../../src/callers/callers.ts";
import { Scheduler } from "../../src/engine/scheduler.ts";
import { LinkedList } from "../../src/util/linked-list.ts";
import { CompactingMap } from "../../src/util/compacting-map.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as (options?: { type: "minor" }) => void;

const oldBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => name === "old_space" || name === "large_object_space")
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);

/** Size of the old generation, in bytes, after 3,000 members of 10 kB were added and removed, 32 at a time. */
function promotedBy(enter: (member: object, key: string) => () => void): number {
  const leaves: (() => void)[] = [];
  const churn = (count: number) => {
    for (let index = 0; index < count; index++) {
      leaves.push(enter({ content: Array.from({ length: 1_250 }, () => 0) }, `${index}`));
      if (leaves.length > 32) leaves.shift()?.();
    }
  };
  churn(100);
  gc();
  const before = oldBytes();
  churn(3_000);
  for (let round = 0; round < 3; round++) gc({ type: "minor" });
  return oldBytes() - before;
}

test("removed list members, map members and tasks are garbage-collected early", () => {
  const map = new CompactingMap<object>();
  const list = new LinkedList<object>();
  const inMap = promotedBy((member, key) => {
    map.set(key, member);
    return () => map.delete(key);
  });
  const inList = promotedBy((member) => {
    const place = list.add(member);
    return () => list.remove(place);
  });
  const callers = new CallerRegistry();
  const queue = new Scheduler(callers).queueOf(callers.of("t0ken", "127.0.0.1"));
  // Each time slice is long enough for one task.
  stopwatchRuns();
  const inQueue = promotedBy((member) => {
    queue.add(() => expect(member).toBeDefined());
    return () => queue.serveNext();
  });
  expect([inMap, inList, inQueue].filter((bytes) => bytes > 10_000_000)).toEqual([]);
});

test("a CompactingMap behaves like a Map, even after thousands of deletions", () => {
  const key = fc.integer({ min: 0, max: 1_500 }).map((number) => `${number}`);
  const steps = fc.array(fc.tuple(key, fc.boolean()), { minLength: 1, maxLength: 4_000, size: "max" });
  fc.assert(
    fc.property(steps, (given) => {
      const map = new CompactingMap<number>();
      const reference = new Map<string, number>();
      given.forEach(([at, isDeleted], index) => {
        if (isDeleted) map.delete(at);
        else map.set(at, index);
        if (isDeleted) reference.delete(at);
        else reference.set(at, index);
      });
      expect(map.size).toBe(reference.size);
      expect(given.map(([at]) => map.get(at))).toEqual(given.map(([at]) => reference.get(at)));
    }),
    { numRuns: 20 },
  );
});
