import { expect, test } from "vitest";
import { GROUP, PROJECT, row, startExports } from "../support/exported.ts";

const URLS = `{
  project(id: "ada.mnist") { runsUrl metricsUrl(format: NDJSON) }
  group(id: "ada.mnist.5") { runsUrl(format: NDJSON) metricsUrl }
}`;

test("projects and groups tell the addresses of their exports", async () => {
  const { ask, url, calls } = await startExports((seen) =>
    seen.path.endsWith("/groups/5/") ? { json: { id: 5 } } : undefined,
  );
  const at = (id: string, file: string) => `${url}/export/${id}/${file}`;
  expect(await ask(URLS)).toEqual({
    data: {
      project: { runsUrl: at(PROJECT, "runs.csv"), metricsUrl: at(PROJECT, "metrics.ndjson") },
      group: { runsUrl: at(GROUP, "runs.ndjson"), metricsUrl: at(GROUP, "metrics.csv") },
    },
  });
  expect(calls()).toEqual(["GET ada/mnist/groups/5/"]);
});

test.each([
  ["%C3%A4da.mnist", 200],
  ["ada%2Emnist", 200],
  ["ada.mn%2Fist", 400],
  ["ada.%ff", 400],
  ["ada.%00", 400],
])("a name in an address can be percent-encoded: %s", async (name, status) => {
  const { get } = await startExports([row(1)]);
  expect((await get(`${name}/runs.csv?columns=uniqueName`)).status).toBe(status);
});

test("names stand in addresses as well", async () => {
  const { get, calls } = await startExports([row(1)]);
  for (const name of ["ada.mnist", "ada.mnist.5"]) {
    const response = await get(`${name}/runs.csv?columns=uniqueName`);
    expect(await response.text()).toBe("uniqueName\r\nada.mnist.1\r\n");
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}.runs.csv"`);
  }
  expect(calls()).toEqual([
    "GET ada/mnist/experiments?group=5&sort=created_at%2C-updated_at&limit=500",
    "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500",
  ]);
});
