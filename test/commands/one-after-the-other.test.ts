import { expect, test } from "vitest";
import { onWire } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { begin } from "../support/readers.ts";

test("sends no further commands after the caller disconnects during one", async () => {
  const calls: string[] = [];
  const arrived = latch();
  const url = await listen(({ method = "", url: path = "" }, response) => {
    calls.push(onWire({ method, path }));
    if (path.includes("/9/")) response.end();
    else arrived.open();
  });
  const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_RETRIES: "2" } });
  const graphql = `mutation {
    a: stopExperiment(id: "ada.mnist.3", force: true) { __typename }
    b: stopExperiment(id: "ada.mnist.4", force: true) { __typename }
  }`;
  const caller = begin(gateway.url, { path: "/graphql", graphql });
  await arrived.opened;
  caller.destroy();
  const last = await gateway.ask(
    `mutation { stopExperiment(id: "ada.mnist.9", force: true) { __typename } }`,
  );
  expect(last).toEqual({ data: { stopExperiment: { __typename: "StopExperimentPayload" } } });
  expect(calls).toEqual(["POST ada/mnist/experiments/3/stop", "POST ada/mnist/experiments/9/stop"]);
});
