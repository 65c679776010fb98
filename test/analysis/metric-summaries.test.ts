import { expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";
import SUMMARIES from "./metric-summaries.json" with { type: "json" };

const POINT = "{ value step recordedAt }";

test("summarizes each metric over the whole run with one request", async () => {
  const path = "ada/mnist/experiments/42/metrics";
  const { ask, service } = await startBefore({ [path]: { count: 5, results: SUMMARIES.records } });
  const answer = await ask(`{
    experiment(id: "ada.mnist.42") {
      metricSummaries { name count leftOut mean first ${POINT} last ${POINT} min ${POINT} max { value step } }
      again: metricSummaries(names: ["acc", "none"]) { name }
    }
  }`);
  expect(answer).toEqual({
    data: { experiment: { metricSummaries: SUMMARIES.reported, again: [{ name: "acc" }] } },
  });
  expect(service.calls()).toEqual([`GET ${path}`]);
});
