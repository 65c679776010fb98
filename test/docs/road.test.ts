import { expect, test } from "vitest";
import { readRoadCounts, STATIONS } from "../../tools/docs/road.ts";
import type { Place } from "../../tools/road/instrument.ts";
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

test("the picture of CONTRIBUTING shows the way of a read: functions that are called there, in that order", () => {
  const calls = measured.get("an experiment with its build") ?? [];
  const answered = calls.findIndex(({ name }) => name === "ResponseHandler.onHeaders");
  const [down, up] = [calls.slice(0, answered), calls.slice(answered)];
  const indexOf = (some: readonly Place[], file: string, called = "") =>
    some.findIndex((place) => place.file === `src/${file}` && place.name.split(".").includes(called));
  const missing = Object.entries(STATIONS).flatMap(([file, station]) => [
    ...station.down.filter((name) => indexOf(down, file, name) < 0),
    ...station.up.filter((name) => indexOf(up, file, name) < 0),
  ]);
  expect(missing).toEqual([]);
  const firsts = Object.entries(STATIONS).flatMap(
    ([
      file,
      {
        down: [first],
      },
    ]) => (first ? indexOf(down, file, first) : []),
  );
  expect(firsts).toEqual(firsts.toSorted((one, other) => one - other));
});
