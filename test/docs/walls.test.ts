import { expect, test } from "vitest";
import { faultsIn, importGraph } from "../../tools/docs/imports.ts";

// The linter holds that no imports form a circle, and how long a file may be.

test("files of src and of the demo import what CONTRIBUTING's layout says, and only rows above their own", () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(100);
  expect(faultsIn(graph)).toEqual([]);
});

test("an import that no row allows is named with its file", () => {
  const graph = new Map([
    ...importGraph(),
    ["src/new.ts", []],
    ["src/engine/new.ts", ["src/rest/api/page.ts", "undici"]],
  ]);
  expect(faultsIn(graph)).toEqual([
    "src/new.ts is in no row",
    "src/engine/new.ts must not import src/rest/api/page.ts",
    "src/engine/new.ts must not import undici",
  ]);
});
