import { describe, expect, test } from "vitest";
import { everyNth } from "../support/cases.ts";
import { answerTo, RECORDED_ROWS } from "./recorded-rows.ts";
import { readRecording } from "../support/replay.ts";

/** Endpoints that the gateway does not support: saved searches, chart views, activity. */
const LEFT_OUT = /\/(?:searches|chartviews|activitylogs|historylogs)\b/;

/** Requests that were recorded in another form: for rows with equal dates, a page is read with one more row on each side. */
const ASKED_OTHERWISE = /list limit (?:2 )?offset|of a group, second page/;

describe.each([
  ["0.2.0-reads", "polyaxon-0.2"],
  ["0.2.0-writes", "document"],
  ["0.4.4-samples", "polyaxon-0.4"],
  ["0.4.4-beyond", "polyaxon-0.4"],
  ["0.4.4-further", "polyaxon-0.4"],
] as const)("the recording %s", (file, profile) => {
  const lines = readRecording(file).filter(({ path }) => !LEFT_OUT.test(path));
  const rows = Object.entries(RECORDED_ROWS[file] ?? {});
  const asked = rows.flatMap(([name, row]) =>
    typeof row === "string" || ASKED_OTHERWISE.test(name) ? [] : [[name, row] as const],
  );

  // Of the reads of 0.2.0, only the lists are covered.
  const whole = file === "0.2.0-reads" ? [] : [file];
  test.each(whole)("each line has an operation or a reason for its omission: %s", () => {
    expect(rows.map(([name]) => name).toSorted()).toEqual(lines.map((line) => line.case).toSorted());
  });

  test.each(everyNth(asked, 3, 0))(
    "matches the requests and the result of the gateway for %s",
    async (name, row) => {
      const { given, recorded } = await answerTo(lines, name, row, profile);
      expect(given).toMatchObject(recorded);
    },
  );
});
