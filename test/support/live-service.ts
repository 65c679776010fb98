import { vi } from "vitest";
import { onWire, type Reply, type Seen, startFake } from "./fake.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { fakeClock } from "./fake-clock.ts";
import { globalId } from "./ids.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";
import { quiet } from "./quiet.ts";
import { subscribe, type Subscription } from "./subscriber.ts";
import { reaches } from "./metrics.ts";

export interface LiveRun {
  readonly id: number;
  last_status: string;
  readonly unique_name?: string;
  updated_at?: string;
}

export const experimentId = (id: number): string => globalId(`Experiment:ada/mnist/${id}`);

export const RUN_UPDATED = `subscription ($id: ID!) {
  runUpdated(id: $id) { previousStatus run { uniqueName status isFinished } }
}`;

const READ = "query ($id: ID!) { experiment(id: $id) { status } }";

/** The delay of the first poll, in milliseconds. It lets other polls join the request. */
export const FIRST_POLL = 20;

const RUN = /^\/api\/v1\/ada\/mnist\/experiments\/(\d+)\/$/;
const LIST = /^\/api\/v1\/ada\/mnist\/experiments\?/;

/** The row of a run in the service's responses. */
export const rowOf = (run: LiveRun) => ({
  unique_name: `ada.mnist.${run.id}`,
  started_at: null,
  finished_at: null,
  ...run,
});

/**
 * Starts a service with experiments of `ada/mnist` that the test can change, behind a gateway with a fake clock. Responses of `answer` take
 * precedence over the experiments.
 */
export async function startLive(
  runs: readonly LiveRun[],
  {
    answer = () => undefined,
    ...options
  }: Omit<GatewayOptions, "upstream" | "clock"> & { answer?: (seen: Seen) => Reply | undefined } = {},
) {
  const records = () => runs.map(rowOf);
  const service = await startFake((seen) => {
    const reported = answer(seen);
    if (reported) return reported;
    const [, id] = RUN.exec(seen.path) ?? [];
    const found = records().find((run) => `${run.id}` === id);
    if (found) return { json: found };
    if (!LIST.test(seen.path)) return undefined;
    const query = new URL(seen.path, "http://service").searchParams.get("query") ?? "";
    const ids = /^id:([\d|]+)$/.exec(query)?.[1]?.split("|");
    const results = records().filter((run) => ids?.includes(`${run.id}`) ?? true);
    return { json: { count: results.length, next: null, results } };
  });
  const settle = () => quiet(() => service.seen().length);
  const time = fakeClock(settle);
  const gateway = await startGateway({ upstream: service, clock: time.clock, ...options });
  return {
    ...service,
    ...gateway,
    ...time,
    subscribe: (subscription: Subscription) => subscribe(gateway.url, subscription),
    watch: (id: number, token?: string) =>
      subscribe(gateway.url, {
        query: RUN_UPDATED,
        variables: { id: experimentId(id) },
        ...(token === undefined ? {} : { token }),
      }),
    /** Verifies each token with a read, so that it may use all permits of a token. */
    accept: async (...tokens: string[]): Promise<void> => {
      for (const token of tokens) await gateway.ask(READ, { id: experimentId(1) }, { token });
    },
    /** Waits until this many subscriptions are open, according to the metrics. */
    subscriptions: (count: number) => reaches(gateway, "rungraph_subscriptions_running", count),
    /** Waits until the service has received this many requests, and returns them. */
    requests: async (count: number): Promise<string[]> => {
      await vi.waitUntil(() => service.seen().length >= count, LONG_TIMEOUT);
      return service.seen().map(onWire);
    },
    /** Waits until all work has ended and every poll has a timer again. */
    settle,
  };
}

/** The data of an event of `RUN_UPDATED`. */
export const update = (
  id: number,
  status: string,
  previousStatus: string | null = null,
  isFinished = false,
) => ({
  data: { runUpdated: { previousStatus, run: { uniqueName: `ada.mnist.${id}`, status, isFinished } } },
});
