import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import { globalId } from "../support/ids.ts";
import { subscribe } from "../support/subscriber.ts";

const UPDATES = `subscription ($id: ID!) {
  runUpdated(id: $id) { previousStatus isFinal run { uniqueName status } }
}`;

const GATHER = 20;

/** A service with one experiment, whose status the story changes, behind a gateway whose clock it moves. */
async function startRun() {
  const run = { id: 1, unique_name: "ada.mnist.1", last_status: "running" };
  const service = await startFake(({ path }) =>
    path === "/api/v1/ada/mnist/experiments/1/" ? { json: run } : undefined,
  );
  const { clock, advance } = handClock();
  const gateway = await startGateway({ upstream: service, clock });
  return { ...service, ...gateway, run, advance };
}

const variables = { id: globalId("Experiment:ada/mnist/1") };

test("twenty watchers of a run share one request per poll, are told its changes, and end with it", async () => {
  const { url, run, advance, inOrder } = await startRun();
  const watchers = await Promise.all(
    Array.from({ length: 20 }, () => subscribe(url, { query: UPDATES, variables })),
  );
  const next = () => Promise.all(watchers.map((watcher) => watcher.next()));

  advance(GATHER);
  const told = await next();
  expect(told).toEqual(
    watchers.map(() => ({
      data: {
        runUpdated: {
          previousStatus: null,
          isFinal: false,
          run: { uniqueName: "ada.mnist.1", status: "RUNNING" },
        },
      },
    })),
  );
  expect(inOrder()).toEqual(["GET ada/mnist/experiments/1/"]);

  run.last_status = "succeeded";
  advance(1_000);
  const [last] = await next();
  expect(last).toEqual({
    data: {
      runUpdated: {
        previousStatus: "RUNNING",
        isFinal: true,
        run: { uniqueName: "ada.mnist.1", status: "SUCCEEDED" },
      },
    },
  });
  expect(await next()).toEqual(watchers.map(() => null));
  advance(60_000);
  expect(inOrder()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/1/"]);
});
