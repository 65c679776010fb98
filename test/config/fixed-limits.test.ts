import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fixedLimitsFor } from "../../src/config/fixed-limits.ts";
import ROWS from "./fixed-limits.json" with { type: "json" };

/* The limits without a setting, of which tests use other values. Each has a row with its value and the text that documents it. */

const LIMITS = fixedLimitsFor({
  UPSTREAM_TIMEOUT_MS: 1_000,
  UPSTREAM_CONNECTIONS: 3,
  MAX_OPERATIONS: 5,
  MAX_SUBSCRIPTIONS: 11,
});

test("fixed limits have the values that are documented", () => {
  expect(Object.fromEntries(ROWS.map(([name, value]) => [name, value]))).toEqual(LIMITS);
});

test.each(ROWS)("the value of %s, %i, is stated in docs/%s.md", (_, _value, page, text) => {
  const documented = readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), "utf8");
  expect(documented).toContain(text);
});
