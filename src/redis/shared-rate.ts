import type { SharedLimit, SharedRate, Taken } from "../rest/client/replicas.ts";
import type { Connection } from "./connection.ts";
import { COUNT, PAUSE, TAKE } from "./scripts.ts";

/** A pause is no longer, whatever Redis says, in milliseconds. */
const MAX_PAUSE_MS = 300_000;

const REPLY = /^(\d{1,9}) (\d{1,12}) (\d{1,12})$/;

/** The requests of one token in Redis, under this name: what all processes have sent in the last period. */
export function shareRate(
  redis: Connection,
  { requests, atOnce, periodMs }: SharedLimit,
  name: string,
  now: () => string,
): SharedRate {
  const log = redis.keyOf(`rate:${name}`);
  const pause = redis.keyOf(`pause:${name}`);
  const limit = [`${requests}`, `${atOnce}`, `${periodMs}`];
  return {
    isReachable: () => !redis.isPaused(),
    take: async (wanted, ahead): Promise<Taken | null> => {
      const words = ["EVAL", TAKE, "2", log, pause, ...limit, `${wanted}`, `${ahead}`, now()];
      const reply = await redis.ask(words, () => {});
      const told = REPLY.exec(`${reply}`);
      if (!told) return null;
      const [granted = 0, waitMs = 0, pauseMs = 0] = told.slice(1).map(Number);
      // Neither a request nor a time: it would be asked again and again.
      if (granted + waitMs + pauseMs === 0) return null;
      return {
        granted: Math.min(granted, wanted),
        waitMs: Math.min(waitMs, 2 * periodMs),
        pauseMs: Math.min(pauseMs, MAX_PAUSE_MS),
      };
    },
    count: (change) => redis.tell(["EVAL", COUNT, "1", log, `${change}`, `${2 * periodMs}`, now()]),
    pause: (ms) => redis.tell(["EVAL", PAUSE, "1", pause, `${Math.ceil(Math.min(ms, MAX_PAUSE_MS))}`, now()]),
  };
}
