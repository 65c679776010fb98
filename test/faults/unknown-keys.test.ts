import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { FIRST_POLL, startLive, update } from "../support/live-service.ts";

test("details in a machine's summary that have a wrong type read as null, as in its record", async () => {
  const summary = { name: "node-1", sequence: 1, status: 7, docker_version: {}, schedulable_state: "yes" };
  const service = await startRecords({ "cluster/": { nodes: [summary] } });
  const { ask } = await startGateway({ upstream: service });
  expect(await ask("{ cluster { nodes { name status dockerVersion schedulableState } } }")).toEqual({
    data: {
      cluster: { nodes: [{ name: "node-1", status: null, dockerVersion: null, schedulableState: null }] },
    },
  });
});

test("a run of which only keys change that the gateway does not know has not changed", async () => {
  const run = { id: 1, unique_name: "ada.mnist.1" };
  let reads = 0;
  const { watch, advance, reach, requests } = await startLive([], {
    answer: () => ({
      json: { ...run, last_status: reads < 2 ? "running" : "succeeded", total_run: `${++reads} s` },
    }),
  });
  const watcher = await watch(1);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  await reach(1_000, 2_000);
  expect(await watcher.next()).toEqual(update(1, "SUCCEEDED", "RUNNING", true));
  expect(await requests(3)).toHaveLength(3);
});
