import { expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";

/* `metricSeries(x:)`: another value of the same records as the axis. */

const METRICS = "ada/mnist/experiments/42/metrics";

const SERIES = `query ($x: String, $maxPoints: Int, $names: [String!]) { experiment(id: "ada.mnist.42") {
  metricSeries(x: $x, maxPoints: $maxPoints, names: $names) { name values x }
} }`;

interface Series {
  readonly experiment: {
    readonly metricSeries: readonly {
      readonly values: readonly number[];
      readonly x: readonly number[] | null;
    }[];
  };
}

const startRun = (all: readonly object[]) =>
  startBefore({ [METRICS]: { results: all.map((values, index) => ({ id: index + 1, values })) } });

const RECORDS = [
  { loss: 3, epoch: 1 },
  { loss: 2 },
  { loss: 1, epoch: "two", accuracy: 0.5 },
  { loss: 0, epoch: 4, accuracy: 0.9 },
];

test("returns the axis value from the record of each point", async () => {
  const { ask, service } = await startRun(RECORDS);
  expect(await ask(SERIES, { x: "epoch" })).toEqual({
    data: {
      experiment: {
        metricSeries: [
          { name: "accuracy", values: [0.5, 0.9], x: [null, 4] },
          { name: "epoch", values: [1, null, 4], x: [1, null, 4] },
          { name: "loss", values: [3, 2, 1, 0], x: [1, null, null, 4] },
        ],
      },
    },
  });
  expect(service.inOrder()).toEqual([`GET ${METRICS}`]);
});

test("does not require the axis in `names`", async () => {
  const { ask } = await startRun(RECORDS);
  expect(await ask(SERIES, { x: "epoch", names: ["accuracy"] })).toEqual({
    data: { experiment: { metricSeries: [{ name: "accuracy", values: [0.5, 0.9], x: [null, 4] }] } },
  });
});

test.each([null, "none", "__proto__", "constructor"])("returns no axis if x is %j", async (x) => {
  const { ask } = await startRun([{ loss: 3, epoch: 1 }]);
  expect(await ask(SERIES, { x, names: ["loss"] })).toEqual({
    data: { experiment: { metricSeries: [{ name: "loss", values: [3], x: null }] } },
  });
});

test("reads several axes of a run with one request", async () => {
  const { ask, service } = await startRun([{ loss: 3, epoch: 1, step: 7 }]);
  const field = (x: string) => `${x}: metricSeries(x: "${x}", names: ["loss"]) { x }`;
  expect(await ask(`{ experiment(id: "ada.mnist.42") { ${field("epoch")} ${field("step")} } }`)).toEqual({
    data: { experiment: { epoch: [{ x: [1] }], step: [{ x: [7] }] } },
  });
  expect(service.inOrder()).toEqual([`GET ${METRICS}`]);
});

test("keeps the axis of each point that downsampling keeps", async () => {
  const rows = Array.from({ length: 500 }, (_, index) => ({ loss: Math.sin(index), epoch: index * 10 }));
  const { ask } = await startRun(rows);
  const { data } = await ask<Series, object>(SERIES as never, { x: "epoch", maxPoints: 20, names: ["loss"] });
  const [{ values, x } = { values: [], x: [] }] = data.experiment.metricSeries;
  expect(x).toHaveLength(20);
  expect(values).toEqual(x?.map((each) => Math.sin(each / 10)));
});

test("refuses an axis whose name is too long", async () => {
  const { ask, service } = await startRun([]);
  const { errors } = await ask(SERIES, { x: "x".repeat(2_001) });
  expect(errors?.map(({ message }) => message)).toEqual(["x: expected at most 2000 characters, got 2001"]);
  expect(service.seen()).toEqual([]);
});
