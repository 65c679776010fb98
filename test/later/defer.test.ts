import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { askInPieces } from "../support/pieces.ts";

const EXPERIMENT = {
  id: 3,
  unique_name: "ada.mnist.3",
  description: "A run.",
  last_status: "running",
  build_job: "ada.mnist.builds.7",
};
const BUILD = { id: 7, unique_name: "ada.mnist.builds.7", description: "A build.", last_status: "succeeded" };

async function start(records: Record<string, unknown> = {}) {
  const upstream = await startRecords({
    "ada/mnist/experiments/3/": EXPERIMENT,
    "ada/mnist/builds/7/": BUILD,
    ...records,
  });
  const gateway = await startGateway({ upstream });
  const ask = (query: string, variables = {}) =>
    askInPieces(gateway.url, { query, variables }, { authorization: "token t0ken" });
  return { ask, calls: upstream.inOrder, gateway, upstream };
}

test("a deferred fragment follows the rest, and its reads begin after those of the rest", async () => {
  const { ask, calls } = await start();
  const pieces = await ask(`{
    experiment(id: "ada.mnist.3") {
      status
      ... @defer(label: "build") { buildJob { description } }
    }
  }`);
  expect(pieces).toEqual([
    {
      data: { experiment: { status: "RUNNING" } },
      pending: [{ id: "0", path: ["experiment"], label: "build" }],
      hasNext: true,
    },
    {
      incremental: [{ id: "0", data: { buildJob: { description: "A build." } } }],
      completed: [{ id: "0" }],
      hasNext: false,
    },
  ]);
  expect(calls()).toEqual(["GET ada/mnist/experiments/3/", "GET ada/mnist/builds/7/"]);
});
