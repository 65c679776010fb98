import { expect, test } from "vitest";
import { slownessOf, within } from "./support/machine.ts";

test.each([
  ["that is idle", 250, 0, 8, 2],
  ["that is twice as slow", 500, 0, 8, 4],
  ["that compiles during the tests", 250, 12, 8, 3],
  ["where 28 programs wait for 2 cores", 400, 28, 2, 28],
  ["that is extremely slow", 100_000, 0, 2, 30],
])("timeouts of tests are longer on a machine %s", (_, workMs, load, cores, slowness) => {
  expect(slownessOf(workMs, load, cores)).toBe(slowness);
});

test("the speed of the machine is measured before the tests begin", () => {
  expect(within(1)).toBe(Number(process.env["TEST_SLOWNESS"]));
  expect(within(1)).toBeGreaterThanOrEqual(2);
});
