import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { editPattern, type Protection, PROTECTIONS } from "../../tools/protections.ts";

const textOf = (path: string): string => {
  const url = new URL(`../../${path}`, import.meta.url);
  return path !== "" && existsSync(url) ? readFileSync(url, "utf8") : "";
};

/** Whether the edit matches once in its file, and the test file contains a test with this title. */
const isApplicable = (row: Protection): boolean =>
  textOf(row.edit.file).match(editPattern(row))?.length === 1 &&
  ['"', "`"].some((quote) => textOf(row.test.file).includes(`${quote}${row.test.title}${quote},`));

test("each row of mutations.json has an applicable edit and an existing test", () => {
  const stale = PROTECTIONS.filter((row) => !isApplicable(row));
  expect(stale, "in test/protections/mutations.json, copy the present text of the code into `from`").toEqual(
    [],
  );
});
