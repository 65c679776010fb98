import { expect, test } from "vitest";
import { readRoadCounts } from "../../tools/docs/road.ts";
import { countsOf, measureTrips } from "../../tools/road/measure.ts";

/** A timer may call a function or two meanwhile. */
const TOLERANCE = 1.03;

/** Below that, the page tells of a longer road than there is. */
const LEAST = 0.9;

const measured = await measureTrips();
const written = readRoadCounts();

test("CONTRIBUTING names each trip that is counted", () => {
  expect(Object.keys(written)).toEqual([...measured.keys()]);
});

test.each([...measured])("%s passes no more than CONTRIBUTING says, and not much less", (name, calls) => {
  for (const [what, count] of Object.entries(countsOf(calls))) {
    // Safe: both have the same keys.
    const limit = written[name]?.[what as "files"] ?? 0;
    expect(count, `${what}: npm run road`).toBeLessThanOrEqual(limit * TOLERANCE);
    expect(count, `${what} are fewer: npm run road -- --update, npm run docs`).toBeGreaterThan(limit * LEAST);
  }
});
