import { expect, test } from "vitest";
import { experimentId, FIRST_POLL, startLive } from "../support/live-service.ts";

const RUN = "GET ada/mnist/experiments/1/";
const METRICS = "GET ada/mnist/experiments/1/metrics";

/** Starts a service with a run whose record and metrics the test changes, behind a gateway that caches responses for a minute. */
async function startMeasured() {
  const run = { id: 1, last_status: "running" };
  let count = 1;
  const live = await startLive([run], {
    answer: ({ path }) =>
      path.includes("/metrics") ? { json: { count, next: null, results: [] } } : undefined,
    env: { CACHE_TTL_MS: "60000" },
  });
  const finish = () => {
    run.last_status = "succeeded";
    count = 2;
  };
  return { ...live, finish };
}

const METRICS_OF_EVENT = `subscription ($id: ID!) {
  runUpdated(id: $id) { run { status ... on Experiment { metrics(first: 1) { totalCount } } } }
}`;

test("polls bypass the cache, and events contain no older data", async () => {
  const { ask, subscribe, advance, reach, requests, finish } = await startMeasured();
  const asked = `{ experiment(id: "ada.mnist.1") { status metrics(first: 1) { totalCount } } }`;
  const answer = (status: string, totalCount: number) => ({ status, metrics: { totalCount } });
  expect((await ask(asked)).data).toEqual({ experiment: answer("RUNNING", 1) });
  const watcher = await subscribe({ query: METRICS_OF_EVENT, variables: { id: experimentId(1) } });
  advance(FIRST_POLL);
  const event = (status: string, count: number) => ({ data: { runUpdated: { run: answer(status, count) } } });
  expect(await watcher.next()).toEqual(event("RUNNING", 1));
  finish();
  await reach(1_000);
  expect(await watcher.next()).toEqual(event("SUCCEEDED", 2));
  // An operation gets the data that was read for the events.
  expect((await ask(asked)).data).toEqual({ experiment: answer("SUCCEEDED", 2) });
  expect((await requests(7)).toSorted()).toEqual([RUN, RUN, RUN, RUN, METRICS, METRICS, METRICS]);
});
