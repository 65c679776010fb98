import { expect, test } from "vitest";
import { folderOf, importGraph, layout, road } from "../../docs/generator/layout.ts";

// The linter holds which folder may import which, that no imports form a circle, and how long a file may be.

const graph = importGraph();

test("every file of src belongs to a folder of CONTRIBUTING's layout", () => {
  const folders = new Set<string>(layout().map(({ folder }) => folder));
  expect([...graph.keys()].filter((file) => !folders.has(folderOf(file)))).toEqual([]);
});

test("folders import only those above them in CONTRIBUTING's layout", () => {
  const order = layout().map(({ folder }) => folder);
  const wrong = layout().flatMap(({ folder, imports }) =>
    imports
      .filter((each) => order.indexOf(each) > order.indexOf(folder))
      .map((each) => `${folder} imports ${each}`),
  );
  expect(wrong).toEqual([]);
});

test("the road of experiment(id:) has at most 15 files, each linked to one before it by an import", () => {
  const files = road();
  const isLinked = (file: string, other: string) =>
    graph.get(file)?.includes(other) || graph.get(other)?.includes(file);
  const unlinked = files.slice(1).filter((file, index) => {
    const before = files.slice(0, index + 1);
    return !before.some((other) => isLinked(file, other));
  });
  expect({ unlinked, isShort: new Set(files).size <= 15 }).toEqual({ unlinked: [], isShort: true });
});
