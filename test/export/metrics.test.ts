import { expect, test } from "vitest";
import { PROJECT, query, readable, row, startExports } from "../support/exported.ts";
import { pageOf, type Seen, type FakeResponse } from "../support/fake.ts";
import RECORDED from "./recorded-metrics.json" with { type: "json" };

const METRICS: Readonly<Record<string, readonly object[]>> = RECORDED;

const RUNS = [
  row(1, { started_at: "2026-01-01T00:00:05Z", declarations: { lr: 0.1 } }),
  row(2, { started_at: null, declarations: { lr: 0.2 } }),
  ...[3, 4, 5].map((id) => row(id, { started_at: null, declarations: null })),
];

const answer = (seen: Seen): FakeResponse | undefined => {
  const id = /experiments\/(\d+)\/metrics/.exec(seen.path)?.[1];
  return id ? { json: { count: null, next: null, results: METRICS[id] ?? [] } } : pageOf(RUNS, seen);
};

test("exports one row per metric value, with step and elapsed time", async () => {
  const { get, calls } = await startExports(answer);
  const response = await get(`${PROJECT}/metrics.csv`);
  expect(await response.text()).toBe(
    [
      "uniqueName,metric,step,recordedAt,secondsSinceStart,value,error",
      "ada.mnist.1,accuracy,0,2026-01-01T00:00:10Z,5,0.1,",
      "ada.mnist.1,loss,0,2026-01-01T00:00:10Z,5,2,",
      "ada.mnist.1,loss,1,2026-01-01T00:00:20Z,15,1,",
      "ada.mnist.1,accuracy,1,2026-01-01T00:00:30Z,25,0.5,",
      "ada.mnist.1,loss,2,2026-01-01T00:00:30Z,25,,",
      "ada.mnist.2,loss,0,2026-01-01T00:00:05Z,,3,",
      "",
    ].join("\r\n"),
  );
  expect(response.headers.get("x-total-count")).toBe("5");
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="ada.mnist.metrics.csv"');
  const list = "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500";
  expect(calls()).toEqual([...RUNS.map(({ id }) => `GET ada/mnist/experiments/${id}/metrics`), list]);
});

test("metrics can be filtered by name and include columns of their run", async () => {
  const { get } = await startExports(answer);
  const chosen = { names: "loss", columns: "parameter.lr,step,value" };
  expect(await (await get(`${PROJECT}/metrics.ndjson${query(chosen)}`)).text()).toBe(
    [
      '{"parameter.lr":0.1,"step":0,"value":2}',
      '{"parameter.lr":0.1,"step":1,"value":1}',
      '{"parameter.lr":0.1,"step":2,"value":null}',
      '{"parameter.lr":0.2,"step":0,"value":3}',
      "",
    ].join("\n"),
  );
});

test("metrics of a diverged run are numbers or null, never strings", async () => {
  const written = [
    '{"id": 1, "values": {"loss": 100000000000000000000, "grad": -9007199254740993}}',
    '{"id": 2, "values": {"loss": 1e999, "grad": NaN}}',
    '{"id": 3, "values": {"loss": "NaN", "grad": -Infinity}}',
  ];
  const { get } = await startExports((seen) =>
    seen.path.includes("/metrics")
      ? {
          text: `{"count": 3, "results": [${written.join()}]}`,
          headers: { "content-type": "application/json" },
        }
      : pageOf([row(1)], seen),
  );
  expect(await (await get(`${PROJECT}/metrics.ndjson?columns=metric,value`)).text()).toBe(
    [
      '{"metric":"grad","value":-9007199254740992}',
      '{"metric":"loss","value":100000000000000000000}',
      ...[1, 2].flatMap(() => ['{"metric":"grad","value":null}', '{"metric":"loss","value":null}']),
      "",
    ].join("\n"),
  );
});

test("exports metrics of more runs than an operation's request limit", async () => {
  const rows = Array.from({ length: 250 }, (_, index) => row(index + 1, { created_at: null }));
  const { get } = await startExports((seen) =>
    seen.path.includes("/metrics")
      ? { json: { count: 1, next: null, results: METRICS["2"] } }
      : readable(rows, seen, { started_at: "2026-01-01T00:00:05Z" }),
  );
  const text = await (await get(`${PROJECT}/metrics.csv?columns=uniqueName,secondsSinceStart,value`)).text();
  expect(text.trimEnd().split("\r\n").slice(1)).toEqual(rows.map(({ id }) => `ada.mnist.${id},0,3`));
});
