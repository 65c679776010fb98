import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

/** Sets the gateway's time zone until the test ends. The clock shows noon in UTC. */
function stopClock(zone: string): void {
  // The clock is not stopped by fake timers, because polling code in this process would advance them.
  const now = vi.spyOn(Date, "now").mockReturnValue(NOON);
  vi.stubEnv("TZ", zone);
  onTestFinished(() => {
    now.mockRestore();
    vi.unstubAllEnvs();
  });
}

/** The durations of a run in a result and in an export, if the upstream service sends this `Date`. */
async function durationsOf(run: object, date: string | null): Promise<unknown[]> {
  const record = { id: 42, unique_name: "ada.mnist.42", last_status: "running", finished_at: null, ...run };
  const list = { count: 1, next: null, results: [record] };
  const service = await startFake(({ path }) => (response: ServerResponse) => {
    response.sendDate = false;
    response.writeHead(200, { "content-type": "application/json", ...(date !== null && { date }) });
    response.end(JSON.stringify(path.includes("42") ? record : list));
  });
  const { ask, url } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const { data } = await ask<unknown, object>(`{ experiment(id: "ada.mnist.42") { durationSeconds } }`);
  const table = `${url}/export/${globalId("Project:ada/mnist")}/runs.csv?columns=durationSeconds`;
  const exported = await fetch(table, { headers: { authorization: "token t0ken" } });
  return [data, await exported.text()];
}

const reported = (seconds: number) => [
  { experiment: { durationSeconds: seconds } },
  `durationSeconds\r\n${seconds}\r\n`,
];

test.each([
  ["is ten minutes ahead", "Mon, 01 Jun 2026 12:10:00 GMT", "2026-06-01T12:09:00Z"],
  ["is ten minutes behind", "Mon, 01 Jun 2026 11:50:00 GMT", "2026-06-01T13:49:00+02:00"],
  ["is right", "Mon, 01 Jun 2026 11:59:59 GMT", "2026-06-01T11:59:00Z"],
  ["is unknown", null, "2026-06-01T11:59:00Z"],
])("the duration of an active run uses the service's clock, which %s", async (_, date, started) => {
  stopClock("UTC");
  expect(await durationsOf({ started_at: started }, date)).toEqual(reported(60));
});

test.each([
  ["running", { started_at: "2026-06-01T11:59:00.5" }, 59.5],
  ["ended", { started_at: "2026-03-08 00:30:00", finished_at: "2026-03-08T04:30:00Z" }, 14_400],
])("a timestamp without offset is UTC in the duration of %s runs", async (_, run, seconds) => {
  // A zone where clocks are moved forward at 2:00 on that day.
  stopClock("America/New_York");
  expect(await durationsOf(run, null)).toEqual(reported(seconds));
});
