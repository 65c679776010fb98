import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Protection, PROTECTIONS } from "../../tools/protections.ts";

const textOf = (path: string): string => {
  const url = new URL(`../../${path}`, import.meta.url);
  return path !== "" && existsSync(url) ? readFileSync(url, "utf8") : "";
};

/** Whether the change has one place in its file, and the file of its test has a test of this title. */
const holds = ({ test: { path, title }, change }: Protection): boolean =>
  textOf(change.path).match(change.from)?.length === 1 &&
  ['"', "`"].some((quote) => textOf(path).includes(`${quote}${title}${quote},`));

test("each row of the table in CONTRIBUTING names a text that stands once in its file, and a test that exists", () => {
  expect(PROTECTIONS.length).toBeGreaterThan(50);
  expect(PROTECTIONS.filter((row) => !holds(row))).toEqual([]);
});
