import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { onWire, startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { begin } from "../support/readers.ts";
import { detail, html } from "../support/replies.ts";

describe("the fields of one request", () => {
  test("run one after the other, each with reads of its own", async () => {
    let commandsSoFar = 0;
    let atOnce = 0;
    const most: number[] = [];
    const service = await startFake(async ({ method }) => {
      if (method !== "GET") commandsSoFar++;
      most.push(++atOnce);
      await setImmediate();
      atOnce--;
      return { json: { id: 3, description: `after ${commandsSoFar}`, last_status: "running" } };
    });
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`mutation {
      a: stopExperiment(id: "ada.mnist.3", force: true) { experiment { description } }
      b: bookmarkExperiment(id: "ada.mnist.3") { experiment { description } }
      c: unbookmarkExperiment(id: "ada.mnist.3") { experiment { id } }
      d: restartExperiment(id: "ada.mnist.3") { experiment { description } }
      e: stopExperiment(id: "ada.mnist.3", force: true) { experiment { description } }
    }`);
    expect(answer).toEqual({
      data: {
        a: { experiment: { description: "after 1" } },
        b: { experiment: { description: "after 2" } },
        c: { experiment: { id: globalId("Experiment:ada/mnist/3") } },
        d: { experiment: { description: "after 4" } },
        e: { experiment: { description: "after 5" } },
      },
    });
    const commands = ["POST stop", "GET ", "POST bookmark/", "GET ", "DELETE unbookmark/", "POST restart/"];
    expect(service.inOrder()).toEqual(
      [...commands, "POST stop", "GET "].map((line) => line.replace(" ", " ada/mnist/experiments/3/")),
    );
    expect(Math.max(...most)).toBe(1);
  });

  test("go on after one that is refused or fails, and read again what it may have changed", async () => {
    let reads = 0;
    const service = await startFake(({ method, path }) => {
      if (path.endsWith("/stop")) return path.includes("/3/") ? html(502) : detail(409, "Already stopped.");
      return method === "GET" ? { json: { id: 3, description: `read ${++reads}` } } : { text: "" };
    });
    const { ask } = await startGateway({ upstream: service });
    const mark = `bookmarkExperiment(id: "ada.mnist.3") { experiment { description } }`;
    const answer = await ask(`mutation {
      before: ${mark}
      fails: stopExperiment(id: "ada.mnist.3", force: true) { experiment { description } }
      refused: stopExperiment(id: "ada.mnist.4", force: true) { experiment { description } }
      wrong: stopExperiment(id: "nonsense", force: true) { experiment { description } }
      after: ${mark}
    }`);
    expect(outcomeOf(answer)).toMatchObject({
      data: {
        before: { experiment: { description: "read 1" } },
        fails: null,
        refused: null,
        wrong: null,
        after: { experiment: { description: "read 2" } },
      },
      errors: [
        { at: "fails", code: "UPSTREAM_UNAVAILABLE", outcome: "unknown" },
        { at: "refused", code: "CONFLICT", message: "Already stopped." },
        { at: "wrong", code: "BAD_USER_INPUT" },
      ],
    });
    const marked = ["POST ada/mnist/experiments/3/bookmark/", "GET ada/mnist/experiments/3/"];
    const stopped = ["POST ada/mnist/experiments/3/stop", "POST ada/mnist/experiments/4/stop"];
    expect(service.inOrder()).toEqual([...marked, ...stopped, ...marked]);
  });
});

test("when the caller leaves during a command, those behind it are not sent", async () => {
  const calls: string[] = [];
  const arrived = gate();
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
