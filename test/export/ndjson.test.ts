import { expect, test } from "vitest";
import { PROJECT, row, startExports } from "../support/exported.ts";

test("exports runs as NDJSON: one object with all columns per line", async () => {
  const { get, calls } = await startExports([
    row(1, { tags: ["a"], declarations: { lr: 0.1, act: "=x" }, last_metric: { loss: "NaN" } }),
    row(2, { tags: null, declarations: { layers: [64, 32] }, last_metric: { loss: 0.5 } }),
  ]);
  const response = await get(
    `${PROJECT}/runs.ndjson?columns=uniqueName,tags,parameter.lr,parameter.act,parameter.layers,metric.loss`,
  );
  expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
  expect(await response.text()).toBe(
    [
      '{"uniqueName":"ada.mnist.1","tags":["a"],"parameter.lr":0.1,"parameter.act":"=x","parameter.layers":null,"metric.loss":null}',
      '{"uniqueName":"ada.mnist.2","tags":null,"parameter.lr":null,"parameter.act":null,"parameter.layers":[64,32],"metric.loss":0.5}',
      "",
    ].join("\n"),
  );
  expect(calls()).toHaveLength(1);
});

test("a project without runs exports an empty file", async () => {
  const { get } = await startExports([]);
  const response = await get(`${PROJECT}/runs.ndjson`);
  expect([response.status, await response.text()]).toEqual([200, ""]);
});
