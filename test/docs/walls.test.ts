import { expect, test } from "vitest";
import { faultsIn, importGraph } from "../../tools/docs/imports.ts";

// The linter holds that no imports form a circle, and how long a file may be.

test("files of src and of the demo import what CONTRIBUTING's layout says, and only rows above their own", () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(100);
  expect(faultsIn(graph)).toEqual([]);
});
