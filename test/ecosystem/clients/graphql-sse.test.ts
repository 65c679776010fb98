import { once } from "node:events";
import { createClient } from "graphql-sse";
import { expect, onTestFinished, test, vi } from "vitest";
import { startRecords } from "../../support/fake.ts";
import { startGateway } from "../../support/gateway.ts";
import { globalId } from "../../support/ids.ts";
import { startDelayed } from "../../support/delayed-service.ts";
import { LONG_TIMEOUT } from "../../support/long-timeout.ts";

/** A frontend whose transport is event streams, each with one operation. */
function clientOf(url: string, token: string) {
  const client = createClient({
    url: `${url}/graphql`,
    headers: { authorization: `token ${token}` },
    retryAttempts: 0,
  });
  onTestFinished(() => client.dispose());
  return client;
}

test("closing an event stream cancels its upstream requests", async () => {
  const service = await startDelayed();
  const { pending } = service;
  const { url } = await startGateway({ upstream: service });
  const results = clientOf(url, "t0ken").iterate({ query: `{ experiment(id: "ada.mnist.42") { status } }` });
  const asked = results.next();
  await vi.waitUntil(() => pending.length === 1, LONG_TIMEOUT);
  const [response] = pending;
  if (!response) throw new TypeError("nobody asked the service");
  const gone = once(response, "close");
  await results.return?.();
  await gone;
  expect(response.writableFinished).toBe(false);
  expect(await asked).toEqual({ done: true, value: undefined });
});

test("a client resubscribes after its gateway stops and receives the current state", async () => {
  const service = await startRecords({
    "ada/mnist/experiments/1/": { id: 1, unique_name: "ada.mnist.1", last_status: "running" },
  });
  const first = await startGateway({ upstream: service });
  const second = await startGateway({ upstream: service });
  const urls = [first.url, second.url];
  const client = createClient({
    url: () => `${urls.shift() ?? second.url}/graphql`,
    headers: { authorization: "token t0ken" },
    retryAttempts: 1,
    retry: () => Promise.resolve(),
  });
  onTestFinished(() => client.dispose());
  const results = client.iterate({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { previousStatus run { status } } }`,
    variables: { id: globalId("Experiment:ada/mnist/1") },
  });
  const reported = { value: { data: { runUpdated: { previousStatus: null, run: { status: "RUNNING" } } } } };
  expect(await results.next()).toMatchObject(reported);
  first.drain();
  expect(await results.next()).toMatchObject(reported);
});
