import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { folderOf, importGraph, layout, road } from "../../docs/generator/layout.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";

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

/** The files of `src` of which a function is called meanwhile. */
async function filesCalled(act: () => Promise<unknown>): Promise<readonly string[]> {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // What was called before does not count.
  await session.post("Profiler.takePreciseCoverage");
  await act();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .map(({ url }) => url.replace("file://", "").replace(root, ""));
}

test("each of the at most 15 files on CONTRIBUTING's road of an id is called on the way of one", async () => {
  const { ask } = await startDemoGateway();
  const called = await filesCalled(() =>
    ask("query ($id: ID!) { experiment(id: $id) { id status } }", { id: "ada.mnist.42" }),
  );
  const files = road().map(({ file }) => file);
  expect(files.filter((file) => !called.includes(file))).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(15);
});
