import { expect, test } from "vitest";
import { folderOf, importGraph, layout } from "../../docs/generator/layout.ts";

// The linter holds which folder may import which, that no imports form a circle, and how long a file may be.

test("every file of src is in a row of CONTRIBUTING's layout", () => {
  const files = [...importGraph().keys()];
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => folderOf(file) === undefined)).toEqual([]);
});

test("each row of CONTRIBUTING's layout imports only rows above it", () => {
  const rows = layout();
  const order = rows.map(({ folder }) => folder);
  const upwards = rows.flatMap(({ folder, imports }) =>
    imports
      .filter((each) => order.indexOf(each) > order.indexOf(folder))
      .map((each) => `${folder} imports ${each}`),
  );
  expect(upwards).toEqual([]);
});
