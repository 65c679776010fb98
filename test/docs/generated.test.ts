import { expect, test } from "vitest";
import { readGeneratedPages } from "../../tools/docs/pages.ts";
import { PARTS } from "../../tools/docs/parts.ts";

const pages = await readGeneratedPages();

test.each(pages)("$path says what the code says (npm run docs)", ({ text, generated }) => {
  expect(text).toBe(generated);
});

test("each generated part of the documentation is on one page", () => {
  expect(pages.flatMap(({ parts }) => parts).toSorted()).toEqual(Object.keys(PARTS).toSorted());
});
