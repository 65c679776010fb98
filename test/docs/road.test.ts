import { expect, test } from "vitest";
import { STATIONS } from "../../tools/docs/road.ts";
import type { Place } from "../../tools/road/instrument.ts";
import { measureTrips } from "../../tools/road/measure.ts";

test("the picture of CONTRIBUTING shows the way of a read: functions that are called there, in that order", async () => {
  const trip = "an experiment with its build";
  const calls = (await measureTrips([trip])).get(trip) ?? [];
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
