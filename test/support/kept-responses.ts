import { vi } from "vitest";
import { handClock } from "./hand-clock.ts";
import { PATIENT } from "./patience.ts";
import { connectTo, startRedis } from "./redis.ts";
import { connected, startReplicas } from "./replicas.ts";

export const ASK = `{ experiment(id: "ada.mnist.42") { description } }`;
export const WRITE = `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "new" }) { experiment { name } } }`;

/** What an experiment says after so many commands. */
export const written = (times: number) => ({
  data: { experiment: { description: `written ${times} times` } },
});

/** Two processes that share kept responses by one Redis, in front of a service. */
export async function startPairFor<Service extends { readonly url: string }>(
  service: Service,
  given: Record<string, string> = {},
) {
  const hand = handClock();
  const { url } = await startRedis();
  const env = { REDIS_SHARED_READS: "on", CACHE_TTL_MS: "60000", ...given };
  const [first, second] = await startReplicas(2, url, { upstream: service, clock: hand.clock, env });
  if (!first || !second) throw new TypeError("two were started");
  await connected([first, second]);
  return { ...hand, service, redis: await connectTo(url), first, second };
}

/** Waits until a response is kept in Redis. */
export const kept = (redis: Awaited<ReturnType<typeof connectTo>>) =>
  vi.waitUntil(async () => (await redis.keys("rungraph:response:*")).length > 0, PATIENT);
