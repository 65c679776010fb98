import { describe, expect, test } from "vitest";
import { FURTHER_ROWS as ROWS } from "../support/beyond-rows.ts";
import { answerTo, isAsked } from "../support/recorded-rows.ts";
import { readRecording } from "../support/replay.ts";

/** What the gateway does not offer: saved searches, chart views, activity. */
const LEFT_OUT = /\/(?:searches|chartviews|activitylogs|historylogs)\b/;

const further = readRecording("0.4.4-further").filter(({ path }) => !LEFT_OUT.test(path));

describe("what release 0.4.4 offers further", () => {
  const asked = Object.entries(ROWS).flatMap(([name, row]) => (isAsked(row) ? [[name, row] as const] : []));

  test("each of its 65 recordings is asked for, or has its reason", () => {
    expect(Object.keys(ROWS).toSorted()).toEqual(further.map((line) => line.case).toSorted());
    expect(further).toHaveLength(65);
  });

  test.each(asked)("%s", async (name, row) => {
    const { given, recorded } = await answerTo(further, name, row);
    expect(given).toMatchObject(recorded);
  });
});
