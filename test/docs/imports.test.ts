import { expect, test } from "vitest";
import { violationsIn, importGraph } from "../../tools/docs/imports.ts";

// The linter rejects import cycles and long files.

test("src and demo files import only what docs/architecture.md allows, from higher rows", () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(100);
  expect(violationsIn(graph)).toEqual([]);
});
