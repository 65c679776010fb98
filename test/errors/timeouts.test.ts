import { expect, test } from "vitest";
import { gate } from "../support/gate.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { RUNNING_ANSWER, SECRET_TOKEN } from "../support/one-read.ts";
import { withDeadline } from "../support/patience.ts";

test("when the time of a request is over, what was had is returned, and what waits is not sent", async () => {
  await withDeadline(async (deadlineMs) => {
    const gone = gate();
    const seen: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      seen.push(request.url);
      if (request.url?.endsWith("/1/")) return void response.end(`{"id": 1, "last_status": "running"}`);
      response.on("close", gone.open);
    });
    const { ask } = await startGateway({
      upstream: { url },
      env: { REQUEST_TIMEOUT_MS: `${deadlineMs}`, MAX_UPSTREAM_WIDTH: "1" },
    });
    const answer = await ask<unknown, unknown>(`{
    had: experiment(id: "ada.mnist.1") { status }
    hanging: experiment(id: "ada.mnist.2") { status }
    waiting: experiment(id: "ada.mnist.3") { status }
  }`);
    expect(answer.data).toEqual({ had: { status: "RUNNING" }, hanging: null, waiting: null });
    const told = answer.errors?.map(
      ({ path, extensions }) => `${path?.join(".")}: ${String(extensions["code"])}`,
    );
    expect(told?.toSorted()).toEqual(["hanging: UPSTREAM_TIMEOUT", "waiting: UPSTREAM_TIMEOUT"]);
    expect(seen).toEqual(["/api/v1/ada/mnist/experiments/1/", "/api/v1/ada/mnist/experiments/2/"]);
    await gone.opened;
  });
});

test("when the caller leaves, the running request is given up and no further one is sent", async () => {
  const arrived = gate();
  const gone = gate();
  const seen: (string | undefined)[] = [];
  const url = await listen((request, response) => {
    seen.push(request.url);
    if (request.url?.endsWith("/9/")) return void response.end(`{"id": 9, "last_status": "running"}`);
    response.on("close", gone.open);
    arrived.open();
  });
  const env = { MAX_UPSTREAM_WIDTH: "1", UPSTREAM_RETRIES: "2" };
  const gateway = await startGateway({ upstream: { url }, env });
  const leaving = new AbortController();
  const asked = fetch(`${gateway.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `token ${SECRET_TOKEN}` },
    body: JSON.stringify({
      query: `{ a: experiment(id: "ada.mnist.1") { status } b: experiment(id: "ada.mnist.2") { status } }`,
    }),
    signal: leaving.signal,
  });
  await arrived.opened;
  leaving.abort();
  await expect(asked).rejects.toThrow("aborted");
  await gone.opened;
  expect(await gateway.ask(`{ experiment(id: "ada.mnist.9") { status } }`)).toEqual(RUNNING_ANSWER);
  expect(seen).toEqual(["/api/v1/ada/mnist/experiments/1/", "/api/v1/ada/mnist/experiments/9/"]);
  expect(gateway.logged()).not.toContain("unexpected");
});
