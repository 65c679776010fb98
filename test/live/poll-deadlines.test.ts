import { expect, onTestFinished, test, vi } from "vitest";
import { RELEASE_02 } from "../support/gateway.ts";
import { FIRST_POLL, rowOf, startLive } from "../support/live-service.ts";

/* The deadline of a poll, which does not pass while a request of the poll waits for the rate limit. */

/** A timeout that nothing else in this process has, in milliseconds. */
const DEADLINE_MS = 123_456;

/** Returns a function that ends everything whose deadline is `DEADLINE_MS` after its beginning, as if that time had passed. */
function expiring() {
  const set = vi.spyOn(globalThis, "setTimeout");
  const cleared = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => void vi.restoreAllMocks());
  return (): void => {
    const over = new Set(cleared.mock.calls.map(([timer]) => timer));
    for (const [index, [end, ms]] of set.mock.calls.entries())
      if (ms === DEADLINE_MS && !over.has(set.mock.results[index]?.value)) end();
  };
}

/** Watches two running experiments. Both end after the first poll, so that the second poll reads the list and then each of them. */
async function startEnded(answerRun: (id: string) => Promise<void> = async () => {}) {
  const expire = expiring();
  const runs = [1, 2].map((id) => ({ id, last_status: "running" }));
  const live = await startLive(runs, {
    env: { ...RELEASE_02, REQUEST_TIMEOUT_MS: `${DEADLINE_MS}`, LIVE_REQUESTS_PER_MINUTE: "2" },
    answer: ({ path }) => {
      const results = runs.filter(({ last_status }) => last_status === "running").map(rowOf);
      if (path.includes("experiments?")) return { json: { count: results.length, next: null, results } };
      const [, id = ""] = /(\d+)\/$/.exec(path) ?? [];
      const record = runs.find((run) => `${run.id}` === id) ?? { id: 0, last_status: "" };
      return (response) => answerRun(id).then(() => response.end(JSON.stringify(rowOf(record))));
    },
  });
  const watcher = await live.subscribe({
    query: `subscription { runsUpdated(of: "ada.mnist", query: "status:running") { reason run { reference } } }`,
  });
  live.advance(FIRST_POLL);
  const next = async () => {
    const { data } = (await watcher.next()) ?? {};
    const { reason, run } = Object(data?.["runsUpdated"]);
    return `${reason} ${run?.reference}`;
  };
  expect([await next(), await next()]).toEqual([
    "APPEARED ada.mnist.experiments.1",
    "APPEARED ada.mnist.experiments.2",
  ]);
  for (const run of runs) run.last_status = "succeeded";
  return { ...live, next, expire };
}

const LIST = "GET ada/mnist/experiments?query=status%3Arunning";
const RUNS = ["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"];
const LEFT = ["LEFT ada.mnist.experiments.1", "LEFT ada.mnist.experiments.2"];

test("the deadline of a poll does not pass while its requests wait", async () => {
  const { next, expire, reach, requests, settle } = await startEnded();
  // The rate limit allows a request in each half minute. Some requests of the poll always wait for it.
  for (const [index, time] of [30_020, 60_020, 90_020].entries()) {
    await reach(time);
    await requests(2 + index);
    await settle();
    if (time < 90_020) expire();
  }
  expect([await next(), await next()]).toEqual(LEFT);
  expect(await requests(4)).toEqual([LIST, LIST, ...RUNS]);
});

test("a read that waited is ended at its deadline and repeated", async () => {
  let isHanging = true;
  const { next, expire, reach, requests, settle } = await startEnded((id) =>
    id === "2" && isHanging ? new Promise(() => {}) : Promise.resolve(),
  );
  await reach(30_020, 60_020, 90_020);
  await requests(4);
  await settle();
  expire();
  expect(await next()).toBe(LEFT[0]);
  isHanging = false;
  await reach(120_020, 150_020);
  expect(await next()).toBe(LEFT[1]);
  expect(await requests(6)).toEqual([LIST, LIST, ...RUNS, LIST, RUNS[1]]);
});
