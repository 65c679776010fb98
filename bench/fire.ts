import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, Pool } from "undici";

export interface Target {
  readonly url: string;
  readonly token: string;
  /** The whole body of the GraphQL request. */
  readonly body: string;
}

/** The outcome of one request: data without errors, a response with errors, a refused connection, or no complete response. */
type Outcome = "good" | "errors" | "refused" | "failed";

export interface Fired {
  /** Latencies of the good requests in milliseconds, sorted. */
  readonly times: readonly number[];
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly seconds: number;
  /** Number of good requests in each second. */
  readonly bySecond: readonly number[];
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown";

async function fireOne(pool: Dispatcher, { token, body }: Target): Promise<Outcome> {
  try {
    const response = await pool.request({
      method: "POST",
      path: "/graphql",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body,
    });
    return (await response.body.text()).includes(`"errors":[`) ? "errors" : "good";
  } catch (error) {
    return codeOf(error) === "ECONNREFUSED" ? "refused" : "failed";
  }
}

function createTally() {
  const times: number[] = [];
  const counts = { good: 0, errors: 0, refused: 0, failed: 0 };
  const bySecond: number[] = [];
  const began = performance.now();
  return {
    add: (outcome: Outcome, ms: number) => {
      counts[outcome]++;
      if (outcome !== "good") return;
      times.push(ms);
      const second = Math.floor((performance.now() - began) / 1_000);
      bySecond[second] = (bySecond[second] ?? 0) + 1;
    },
    sum: (): Fired => ({
      times: times.toSorted((one, other) => one - other),
      counts: { ...counts },
      seconds: (performance.now() - began) / 1_000,
      bySecond: Array.from(bySecond, (count = 0) => count),
    }),
  };
}

/** Runs `width` callers until the promise `until` is fulfilled. Each caller sends its next request as soon as it has a response. */
export async function fireAtWidth(target: Target, width: number, until: Promise<unknown>): Promise<Fired> {
  const pool = new Pool(target.url, { connections: width });
  const tally = createTally();
  const over = new AbortController();
  const ending = until.then(() => over.abort());
  const callers = Array.from({ length: width }, async () => {
    while (!over.signal.aborted) {
      const began = performance.now();
      const outcome = await fireOne(pool, target);
      tally.add(outcome, performance.now() - began);
      // Pauses after a failure, so that callers do not retry in a busy loop.
      if (outcome !== "good") await sleep(20);
    }
  });
  await Promise.all([ending, ...callers]);
  const fired = tally.sum();
  await pool.destroy();
  return fired;
}

export interface Overload {
  /** Requests that completed during the overload. */
  readonly within: Fired;
  /** Number of requests started per second. */
  readonly offered: number;
}

/** Sends requests at a fixed rate, whether or not earlier ones have completed. */
export async function fireAtRate(target: Target, perSecond: number, seconds: number): Promise<Overload> {
  const pool = new Pool(target.url, { connections: 4_000, headersTimeout: 35_000 });
  const tally = createTally();
  const began = performance.now();
  const running = new Set<Promise<void>>();
  const observe = async () => {
    const at = performance.now();
    tally.add(await fireOne(pool, target), performance.now() - at);
  };
  let begun = 0;
  while (performance.now() - began < seconds * 1_000) {
    const due = ((performance.now() - began) / 1_000) * perSecond;
    for (; begun < due; begun++) {
      const one: Promise<void> = observe().finally(() => running.delete(one));
      running.add(one);
    }
    await sleep(1);
  }
  const within = tally.sum();
  // Cancels the requests in flight, as impatient callers would.
  await pool.destroy();
  await Promise.all(running);
  return { within, offered: begun / within.seconds };
}

export const percentile = ({ times }: Fired, share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;

export const goodPerSecond = ({ counts, seconds }: Fired): number => counts.good / seconds;
