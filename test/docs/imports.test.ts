import { expect, test } from "vitest";
import { violationsIn, importGraph } from "../../tools/docs/imports.ts";

// The linter rejects import cycles and long files.

test("files of src and of the demo import what the table of docs/architecture.md allows, and only rows above their own", () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(100);
  expect(violationsIn(graph)).toEqual([]);
});
