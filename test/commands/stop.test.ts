import { describe, expect, test } from "vitest";
import { runKinds } from "../../src/rest/api/kinds.ts";
import { callOf, commandCalled, idOf } from "../support/commands.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

/** Starts a service whose runs have this state. The service also stops finished runs, as known servers do. */
const startRuns = (state: object) => {
  let stopped = {};
  return startFake(({ method, path }) => {
    if (method === "POST") stopped = { last_status: "stopped" };
    if (method === "POST") return { text: "" };
    return { json: { id: Number(path.split("/")[6]), unique_name: "ada.mnist.3", ...state, ...stopped } };
  });
};

const stops = runKinds.map(({ name }) => {
  const command = commandCalled(`stop${name}`);
  return { ...command, read: `GET ${command.path.replace(/stop$/, "")}` };
});

const stopOf = ({ name, field, ...command }: (typeof stops)[number], args: string) =>
  `mutation { done: ${name}(id: "${idOf({ ...command, name, field })}", ${args}) { outcome ${field} { status isFinished } } }`;

const RUNNING = { last_status: "running", started_at: "2026-02-01T10:00:00+01:00", finished_at: null };
const SUCCEEDED = { ...RUNNING, last_status: "succeeded", finished_at: "2026-02-01T11:00:00+01:00" };

describe.each(stops)("$name", (stop) => {
  const { field, read } = stop;
  test.each([
    ["of a finished run sends nothing", SUCCEEDED, false, "SUCCEEDED", [read]],
    ["of an active run is sent after a read", RUNNING, false, "STOPPED", [read, callOf(stop), read]],
    ["of a finished run with `force` is sent at once", SUCCEEDED, true, "STOPPED", [callOf(stop), read]],
  ])("%s", async (_, state, force, status, requests) => {
    const service = await startRuns(state);
    const { ask } = await startGateway({ upstream: service, env: { CACHE_TTL_MS: "60000" } });
    // The earlier read may be older than the end of the run.
    await ask(`{ ${field}(id: "${idOf(stop)}") { status } }`);
    expect(await ask(stopOf(stop, `force: ${force}`))).toEqual({
      data: {
        done: { outcome: status === "STOPPED" ? "DONE" : "NOT_SENT", [field]: { status, isFinished: true } },
      },
    });
    expect(service.inOrder()).toEqual([read, ...requests]);
  });
});
