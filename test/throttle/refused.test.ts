import { expect, test, vi } from "vitest";
import { codesOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  failedStatus,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  STATUS_CALL,
  STATUS_UPSTREAM,
  statusesOf,
  upTo,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { refusal } from "../support/throttling.ts";

const STOP = `mutation { stopExperiment(id: "ada.mnist.42", force: true) { experiment { status } } }`;

const THROTTLED = "The service allows no more requests for now.";

/** Starts a service that rejects one token, for ten minutes or until the test changes that. */
async function startRefusing(refused = "token t0ken") {
  let isRefusing = true;
  const service = await startFake(({ path, method, headers }) => {
    if (isRefusing && headers["authorization"] === refused) return refusal(100);
    return method === "GET" ? { json: { ...RUNNING_RECORD, id: experimentIn(path) } } : { json: {} };
  });
  const { clock, advance } = fakeClock();
  const gateway = await startGateway({ upstream: service, clock, env: { REQUEST_TIMEOUT_MS: "90000" } });
  return { service, gateway, advance, allow: () => (isRefusing = false) };
}

test("a refusal blocks the token's reads until Retry-After, but no other token", async () => {
  const { service, gateway, advance, allow } = await startRefusing();
  expect(firstCodeOf(await askFor(gateway))).toBe("RATE_LIMITED");
  expect(service.calls()).toEqual([STATUS_CALL]);
  advance(5_000);
  expect(await gateway.ask(ASK_STATUS, {}, { headers: { "x-request-id": "request-1" } })).toEqual(
    failedStatus("RATE_LIMITED", THROTTLED, { upstream: STATUS_UPSTREAM, retryAfterSeconds: 95 }),
  );
  expect(service.calls()).toEqual([STATUS_CALL]);
  expect(await askFor(gateway, ASK_STATUS, "another")).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toHaveLength(2);
  allow();
  advance(95_000);
  expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toHaveLength(3);
});

test("a refusal cancels the unsent reads of the same operation", async () => {
  const { service, ...gateway } = await startBefore(() => refusal(100), {
    REQUEST_TIMEOUT_MS: "90000",
    UPSTREAM_CONNECTIONS_PER_TOKEN: "4",
  });
  const answer = await gateway.ask(statusesOf(upTo(50)));
  expect(Object.values(answer.data as object)).toEqual(Array(50).fill(null));
  // Each of the four rejected requests has its own error, and all other requests share one error.
  expect(codesOf(answer)).toEqual(Array(5).fill("RATE_LIMITED"));
  expect(service.seen()).toHaveLength(4);
});

test("after a pause, reads resume in groups of one, two and four", async () => {
  let refused = 0;
  let pending: (() => void)[] = [];
  const service = await startFake(async ({ path, method }) => {
    if (method === "POST" || (experimentIn(path) !== 42 && refused++ < 7)) return refusal(40);
    await new Promise<void>((resolve) => pending.push(resolve));
    return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
  });
  const { clock, advance, timers } = fakeClock();
  const gateway = await startGateway({ upstream: service, clock, env: { REQUEST_TIMEOUT_MS: "90000" } });
  const early = gateway.ask(ASK_STATUS);
  await vi.waitUntil(() => pending.length === 1, LONG_TIMEOUT);
  const answer = gateway.ask(statusesOf(upTo(7)));
  await vi.waitUntil(() => refused === 7, LONG_TIMEOUT);
  await gateway.ask(STOP);
  // The response to a request that was sent before the rejection does not apply to the time after the pause.
  pending.pop()?.();
  await early;
  await vi.waitUntil(() => timers().includes(40_000), LONG_TIMEOUT);
  advance(40_000);
  for (const atATime of [1, 2, 4]) {
    await vi.waitUntil(() => pending.length >= atATime, LONG_TIMEOUT);
    expect(pending).toHaveLength(atATime);
    const sent = pending;
    pending = [];
    for (const respond of sent) respond();
  }
  expect((await answer).errors).toBeUndefined();
});

test("reads that wait for the end of a pause hold no connection", async () => {
  let isFirst = true;
  const service = await startFake(({ path }) => {
    const reported = isFirst ? refusal(40) : { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
    isFirst = false;
    return reported;
  });
  const { clock, advance, timers } = fakeClock();
  const env = { REQUEST_TIMEOUT_MS: "90000", UPSTREAM_CONNECTIONS: "1" };
  const gateway = await startGateway({ upstream: service, clock, env });
  const waiting = askFor(gateway, statusesOf([1, 2, 3]));
  await vi.waitUntil(() => timers().includes(40_000), LONG_TIMEOUT);
  expect(await askFor(gateway, ASK_STATUS, "another")).toEqual(RUNNING_ANSWER);
  advance(40_000);
  expect((await waiting).errors).toBeUndefined();
});

test("retries once after a refusal with a Retry-After of zero", async () => {
  const service = await startFake(() => refusal(0));
  expect(firstCodeOf(await askFor(await startGateway({ upstream: service })))).toBe("RATE_LIMITED");
  expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
});

test("a refused command starts a pause, during which commands are still sent", async () => {
  const { service, gateway } = await startRefusing();
  for (const query of [STOP, ASK_STATUS, STOP])
    expect(firstCodeOf(await askFor(gateway, query))).toBe("RATE_LIMITED");
  expect(service.calls()).toEqual(Array(2).fill("POST ada/mnist/experiments/42/stop"));
});

test("during a pause, refuses a download with the remaining time in Retry-After", async () => {
  const { service, gateway, advance } = await startRefusing();
  await askFor(gateway);
  advance(40_000);
  const response = await fetch(gateway.url + OUTPUTS_OF_42, { headers: { authorization: "token t0ken" } });
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
  expect(service.calls()).toEqual([STATUS_CALL]);
});
