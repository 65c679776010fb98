import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { BROKEN, PROJECT, pageOf, row, startExports } from "../support/exported.ts";

/** The rows of an Arrow stream, by the package that others read it with. */
async function rowsOf(response: Response) {
  const table = tableFromIPC(await response.arrayBuffer());
  return {
    types: Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, `${type}`])),
    rows: table.toArray().map((each: { toJSON: () => object }) => each.toJSON()),
    batches: table.batches.length,
  };
}

test("runs as an Arrow stream have typed columns, texts and mixed values as text", async () => {
  const { get, calls } = await startExports([
    row(1, { declarations: { lr: 0.1, act: "=x", deep: true, mixed: 1 }, last_metric: { loss: "NaN" } }),
    row(2, { declarations: { layers: [64, 32], mixed: "two" }, last_metric: { loss: 0.5 } }),
  ]);
  const response = await get(
    `${PROJECT}/runs.arrow?columns=uniqueName,param.lr,param.act,param.deep,param.mixed,param.layers,metric.loss`,
  );
  expect(response.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
  expect(response.headers.get("x-total-count")).toBe("2");
  expect(await rowsOf(response)).toEqual({
    types: {
      uniqueName: "Utf8",
      "param.lr": "Float64",
      "param.act": "Utf8",
      "param.deep": "Bool",
      "param.mixed": "Utf8",
      "param.layers": "Utf8",
      "metric.loss": "Float64",
    },
    rows: [
      {
        uniqueName: "ada.mnist.1",
        "param.lr": 0.1,
        "param.act": "=x",
        "param.deep": true,
        "param.mixed": "1",
        "param.layers": null,
        "metric.loss": null,
      },
      {
        uniqueName: "ada.mnist.2",
        "param.lr": null,
        "param.act": null,
        "param.deep": null,
        "param.mixed": "two",
        "param.layers": "[64,32]",
        "metric.loss": 0.5,
      },
    ],
    batches: 1,
  });
  expect(calls()).toHaveLength(1);
});

test("each page is a batch; a parameter that changes its type stands in `others`", async () => {
  const rows = [1, 2, 3].map((id) =>
    row(id, { declarations: { lr: id < 3 ? id : "auto", [`own${id}`]: 1 } }),
  );
  const { get } = await startExports(rows, { MAX_PAGE_SIZE: "2" });
  const { rows: read, batches } = await rowsOf(await get(`${PROJECT}/runs.arrow`));
  expect(batches).toBe(2);
  expect(read).toEqual([
    expect.objectContaining({ "param.lr": 1, others: null }),
    expect.objectContaining({ "param.lr": 2, others: null }),
    expect.objectContaining({ "param.lr": null, others: '{"param.own3":1,"param.lr":"auto"}' }),
  ]);
});

test("breaks off where a column that was asked for changes its type", async () => {
  const rows = [1, 2, 3].map((id) => row(id, { declarations: { lr: id < 3 ? id : "auto" } }));
  const { get, logged } = await startExports(rows, { MAX_PAGE_SIZE: "2" });
  const response = await get(`${PROJECT}/runs.arrow?columns=param.lr`);
  await expect(response.arrayBuffer()).rejects.toThrow(BROKEN);
  await expect.poll(logged).toContain("CONFLICT");
});

test("a project without runs is a stream that only has its columns", async () => {
  const { get } = await startExports([]);
  expect(await rowsOf(await get(`${PROJECT}/runs.arrow?columns=uniqueName,param.lr`))).toEqual({
    types: { uniqueName: "Utf8", "param.lr": "Utf8" },
    rows: [],
    batches: expect.any(Number),
  });
});

test("metrics as an Arrow stream have steps and seconds as numbers", async () => {
  const runs = [row(1, { started_at: "2026-01-01T00:00:00Z" })];
  const records = [{ id: 1, created_at: "2026-01-01T00:00:05Z", values: { loss: 0.5 } }];
  const { get } = await startExports((seen) =>
    seen.path.includes("/metrics")
      ? { json: { count: 1, next: null, results: records } }
      : pageOf(runs, seen),
  );
  const { types, rows } = await rowsOf(await get(`${PROJECT}/metrics.arrow`));
  expect(types).toMatchObject({
    metric: "Utf8",
    step: "Int32",
    secondsSinceStart: "Float64",
    value: "Float64",
  });
  expect(rows).toEqual([
    {
      uniqueName: "ada.mnist.1",
      metric: "loss",
      step: 0,
      recordedAt: "2026-01-01T00:00:05Z",
      secondsSinceStart: 5,
      value: 0.5,
    },
  ]);
});
