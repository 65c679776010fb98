import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LLMS_FILE, makeLlmsFile } from "../../tools/docs/llms.ts";
import { readGeneratedPages } from "../../tools/docs/pages.ts";
import { PARTS } from "../../tools/docs/parts.ts";

const pages = await readGeneratedPages();

test.each(pages)("$path matches the code (npm run docs)", ({ text, generated }) => {
  expect(text).toBe(generated);
});

test("each generated part of the documentation is on exactly one page", () => {
  expect(pages.flatMap(({ parts }) => parts).toSorted()).toEqual(Object.keys(PARTS).toSorted());
});

test("docs/llms.txt describes each page (npm run docs)", () => {
  expect(readFileSync(LLMS_FILE, "utf8")).toBe(makeLlmsFile());
});
