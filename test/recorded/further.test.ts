import { describe, expect, test } from "vitest";
import { OTHER_ROWS } from "../support/further/others.ts";
import { answerTo, isAsked, type RecordedRow } from "../support/recorded-rows.ts";
import { readRecording } from "../support/replay.ts";

const further = readRecording("0.4.4-further");

/** How each exchange is asked for, by its name, or why it is not. One file for each subject. */
const ROWS: Readonly<Record<string, RecordedRow>> = { ...OTHER_ROWS };

describe("what release 0.4.4 offers further", () => {
  const asked = Object.entries(ROWS).flatMap(([name, row]) => (isAsked(row) ? [[name, row] as const] : []));

  test("every row is that of a recording", () => {
    const names = new Set(further.map((line) => line.case));
    expect(Object.keys(ROWS).filter((name) => !names.has(name))).toEqual([]);
    expect(further).toHaveLength(95);
  });

  test.skipIf(asked.length === 0).each(asked)("%s", async (name, row) => {
    const { given, recorded } = await answerTo(further, name, row);
    expect(given).toMatchObject(recorded);
  });
});
