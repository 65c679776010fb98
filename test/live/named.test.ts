import { expect, test } from "vitest";
import { experimentId, FIRST_POLL, startLive, update } from "../support/live-service.ts";

const WATCH = (id: string) => `subscription { runUpdated(${id}) { run { id uniqueName } } }`;

test("a run is watched by its id or its name, with one poll for both", async () => {
  const { watch, subscribe, advance, requests } = await startLive([{ id: 1, last_status: "running" }]);
  const watchers = await Promise.all([
    subscribe({ query: WATCH(`id: "ada.mnist.experiments.1"`) }),
    subscribe({ query: WATCH(`id: "${experimentId(1)}"`) }),
  ]);
  const byId = await watch(1);
  advance(FIRST_POLL);
  for (const watcher of watchers) {
    expect(await watcher.next()).toMatchObject({ data: { runUpdated: { run: { id: experimentId(1) } } } });
  }
  expect(await byId.next()).toEqual(update(1, "RUNNING"));
  expect(await requests(1)).toEqual(["GET ada/mnist/experiments/1/"]);
});
