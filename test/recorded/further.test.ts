import { describe, expect, test } from "vitest";
import { BULK_ROWS } from "../support/further/bulk.ts";
import { ORDER_ROWS } from "../support/further/orders.ts";
import { OTHER_ROWS } from "../support/further/others.ts";
import { OUTPUT_ROWS } from "../support/further/outputs.ts";
import { PROJECT_ROWS } from "../support/further/projects.ts";
import { answerTo, isAsked, type RecordedRow } from "../support/recorded-rows.ts";
import { readRecording } from "../support/replay.ts";

/** What the gateway does not offer: saved searches, chart views, activity. */
const LEFT_OUT = /\/(?:searches|chartviews|activitylogs|historylogs)\b/;

const further = readRecording("0.4.4-further").filter(({ path }) => !LEFT_OUT.test(path));

/** How each exchange is asked for, by its name, or why it is not. One file for each subject. */
const ROWS: Readonly<Record<string, RecordedRow>> = {
  ...ORDER_ROWS,
  ...PROJECT_ROWS,
  ...OUTPUT_ROWS,
  ...BULK_ROWS,
  ...OTHER_ROWS,
};

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
