import { expect, test } from "vitest";
import { violationsIn, importGraph } from "../../tools/docs/imports.ts";

// The linter rejects import cycles and long files.

test("files in src and demo import only what docs/architecture.md allows", () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(100);
  expect(violationsIn(graph)).toEqual([]);
});
