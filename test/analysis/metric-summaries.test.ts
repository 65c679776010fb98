import { expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z`;

const RECORDS = [
  { id: 1, created_at: at(10), values: { loss: 3, acc: 0.1 } },
  { id: 2, created_at: at(20), values: { loss: 1 } },
  { id: 3, created_at: at(30), values: { loss: "NaN", acc: 0.9 } },
  { id: 4, created_at: null, values: { loss: 1, acc: 0.5 } },
  { id: 5, created_at: at(50), values: { text: "a" } },
];

const POINT = "{ value step recordedAt }";

test("each metric is told over the whole run, by one request", async () => {
  const { ask, service } = await startBefore({
    "ada/mnist/experiments/42/metrics": { count: 5, next: null, previous: null, results: RECORDS },
  });
  const answer = await ask(`{
    experiment(id: "ada.mnist.42") {
      metricSummaries { name count leftOut mean first ${POINT} last { value step recordedAt } min ${POINT} max { value step } }
      again: metricSummaries(names: ["acc", "none"]) { name }
    }
  }`);
  const point = (value: number, step: number, second: number) => ({ value, step, recordedAt: at(second) });
  const start = point(0.1, 0, 10);
  expect(answer).toEqual({
    data: {
      experiment: {
        metricSummaries: [
          {
            name: "acc",
            count: 3,
            leftOut: 0,
            mean: 0.5,
            first: start,
            last: { value: 0.5, step: 2, recordedAt: null },
            min: start,
            max: { value: 0.9, step: 1 },
          },
          {
            name: "loss",
            count: 3,
            leftOut: 1,
            mean: 5 / 3,
            first: point(3, 0, 10),
            last: { value: 1, step: 3, recordedAt: null },
            min: point(1, 1, 20),
            max: { value: 3, step: 0 },
          },
          { name: "text", count: 0, leftOut: 1, mean: null, first: null, last: null, min: null, max: null },
        ],
        again: [{ name: "acc" }],
      },
    },
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/metrics"]);
});
