import { vi } from "vitest";
import { startFake, type Told } from "./fake.ts";
import { type Gateway, type GatewayOptions, startGateway } from "./gateway.ts";
import type { handClock } from "./hand-clock.ts";
import { experimentId, RUN_UPDATED } from "./live-service.ts";
import { experimentIn, RUNNING_RECORD } from "./one-read.ts";
import { PATIENT } from "./patience.ts";
import { subscribe } from "./subscriber.ts";

/** Gateways with one Redis in front of one service, with one clock. */
export function startReplicas(
  count: number,
  redisUrl: string | null,
  { env = {}, ...options }: GatewayOptions,
): Promise<Gateway[]> {
  const shared = redisUrl === null ? {} : { REDIS_URL: redisUrl };
  return Promise.all(
    Array.from({ length: count }, () => startGateway({ env: { ...shared, ...env }, ...options })),
  );
}

/** Waits until each of them has a connection to Redis. */
export const connected = (replicas: readonly Gateway[]) =>
  vi.waitUntil(() => replicas.every((each) => each.logged().includes("connected to Redis")), PATIENT);

/** What became of look-ups of responses, such as `poll found`. */
export async function responsesOf({ url }: Pick<Gateway, "url">): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const samples = text.matchAll(/^rungraph_shared_responses_total\{for="(\w+)",outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries(
    [...samples].map(([, kind, outcome, count]) => [`${kind} ${outcome}`, Number(count)]),
  );
}

/** A service whose experiments have the status that the story gives them; `answer` goes first. */
export async function startExperiments(
  answer: (authorization: string, method: string) => Told | undefined | Promise<Told | undefined> = () =>
    undefined,
) {
  const state = { status: "running", writes: 0 };
  const service = await startFake(async ({ method, path, headers }) => {
    const told = await answer(`${headers["authorization"]}`, method);
    if (told) return told;
    if (method !== "GET") state.writes++;
    const id = experimentIn(path);
    return {
      json: {
        ...RUNNING_RECORD,
        id,
        unique_name: `ada.mnist.${id}`,
        last_status: state.status,
        description: `written ${state.writes} times`,
      },
    };
  });
  return { ...service, state };
}

/** Subscribes to one experiment. */
export const watch = ({ url }: Pick<Gateway, "url">, id = 1, token = "t0ken") =>
  subscribe(url, { query: RUN_UPDATED, variables: { id: experimentId(id) }, token });

/** Moves the clock on from timer to timer until a time has come. Waits before each step until all is quiet. */
export async function live(
  { clock, timers, advance }: ReturnType<typeof handClock>,
  until: number,
  isQuiet: () => boolean,
): Promise<void> {
  while (clock.now() < until) {
    await vi.waitUntil(isQuiet, PATIENT);
    advance(Math.max(1, Math.min(timers()[0] ?? until, until) - clock.now()));
  }
  await vi.waitUntil(isQuiet, PATIENT);
}
