import { onTestFinished, vi } from "vitest";
import type { Seen, FakeResponse } from "../support/fake.ts";
import { type Fault, startFaultServer } from "../support/fault-server.ts";
import { respondWith } from "./faults.ts";
import { statusOf, upTo } from "../support/one-read.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";

const recordByItsId = ({ path, method }: Seen): FakeResponse | undefined => {
  const id = /\/(?:experiments|jobs|builds)\/(\d+)\//.exec(path)?.[1];
  if (!id) return undefined;
  return method === "DELETE"
    ? { text: "", status: 204 }
    : { json: { id: Number(id), last_status: "running" } };
};

export const BROKEN = "The service keeps failing. The gateway pauses requests to it for a moment.";

export const BREAKER = "UPSTREAM_UNAVAILABLE, again in 5";

/** Milliseconds after which earlier reads no longer count for the circuit breaker. */
const WINDOW_MS = 10_000;

/** Verified callers. Half of them must fail for the circuit to open without a probe. */
export const TEN_CALLERS = upTo(10).map((number) => `t0ken${number}`);

/**
 * Starts a gateway with a fake clock, in front of a service that can fail. `many` reads `count` different experiments concurrently. `one`
 * reads an experiment as the next of these callers.
 */
export async function startBreakable(env: Record<string, string> = {}, callers: readonly string[] = []) {
  const service = await startFaultServer(recordByItsId);
  const time = fakeClock();
  // The limit is higher than the number of concurrent requests of any test.
  const gateway = await startGateway({
    upstream: service,
    clock: time.clock,
    env: { UPSTREAM_CONNECTIONS_PER_TOKEN: "32", ...env },
  });
  for (const token of callers) await gateway.ask(statusOf(1_000), {}, { token });
  if (callers.length > 0) time.advance(WINDOW_MS);
  service.seen().length = 0;
  let asked = 0;
  const one = async (id = ++asked, options = {}): Promise<string> => {
    const query = `{ experiment(id: "ada.mnist.${id}") { status } }`;
    const token = callers[asked % callers.length] ?? "t0ken";
    return verdictOf((await gateway.ask(query, {}, { token, ...options })) as Answer<unknown>);
  };
  const many = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => one()));
  const pass = (ms: number): void => {
    if (vi.isFakeTimers()) vi.setSystemTime(Date.now() + ms);
    time.advance(ms);
  };
  return { service, gateway, one, many, pass };
}

/** `ok`, or the code of the first error and `retryAfterSeconds`. */
function verdictOf({ errors }: Answer<unknown>): string {
  if (!errors) return "ok";
  const { code, retryAfterSeconds } = errors[0]?.extensions ?? {};
  return retryAfterSeconds === undefined ? String(code) : `${code}, again in ${retryAfterSeconds}`;
}

/** Freezes the retry windows until a test advances the gateway's clock. */
export function freezeWindows(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
  onTestFinished(() => void vi.useRealTimers());
}

export const counted = (verdicts: readonly string[]) =>
  Object.fromEntries(
    [...new Set(verdicts)].toSorted().map((each) => [each, verdicts.filter((one) => one === each).length]),
  );

export const inSequence = async (count: number, act: () => Promise<string>): Promise<string[]> => {
  const verdicts: string[] = [];
  for (let round = 0; round < count; round++) verdicts.push(await act());
  return verdicts;
};

/** Makes the service hold its requests until `release`. */
export function delayAll() {
  const pending: (() => void)[] = [];
  let arrivals: (() => void)[] = [];
  const fault: Fault = ({ response, right }) => {
    pending.push(() => void respondWith(right)({ response, right }));
    for (const arrived of arrivals) arrived();
  };
  return {
    fault,
    count: () => pending.length,
    /** Waits until at least `count` requests are pending. */
    arrived: async (count: number) => {
      while (pending.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
      arrivals = [];
    },
    release: () => {
      for (const answer of pending.splice(0)) answer();
    },
  };
}
