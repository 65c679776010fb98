import { expect, test } from "vitest";
import { measureRooms } from "../tools/rooms.ts";

test("no part of the repository is larger than it may be", () => {
  expect(measureRooms().filter(({ size, limit }) => size > limit)).toEqual([]);
});
