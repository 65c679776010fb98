import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { causeOf } from "../rest/client/failure.ts";
import { reportOf } from "./error-report.ts";

/** How many different places of wrong types are logged, each once. */
const MAX_WRONG_TYPES = 200;

/** For how long a failure of one kind is logged only once, in milliseconds. */
const FAILURE_LOGGED_MS = 60_000;

/** Logs what an operator should see, and not for each request anew. */
export function createEventLog(log: Logger) {
  const wrongTypes = new Set<string>();
  const failures = new LRUCache<string, true>({ max: 100, ttl: FAILURE_LOGGED_MS });

  /** An error that nobody expected: where it came from, and the field that it cost. */
  const unexpected = (thrown: unknown, path?: readonly (string | number)[]): void =>
    log.error(reportOf(thrown, path), "unexpected error");

  return {
    unexpected,

    /** A value of the service that reads as null because of its type. */
    wrongType: (route: string, at: string): void => {
      const place = at.replaceAll(/\d+/g, "*");
      const key = `${route} ${place}`;
      if (wrongTypes.has(key) || wrongTypes.size >= MAX_WRONG_TYPES) return;
      wrongTypes.add(key);
      log.warn({ route, place }, "the service sent a value of another type: it reads as null");
    },

    /** What is behind a failed request to the service: a code such as `CERT_HAS_EXPIRED`, or a bug of the gateway. */
    upstreamFailure: (cause: unknown): void => {
      const code = causeOf(cause);
      if (code === null) return unexpected(cause);
      if (failures.has(code)) return;
      failures.set(code, true);
      log.warn({ cause: code }, "a request to the service failed");
    },

    /** A list that the server refuses although it answers the single reads. */
    refusedBatch: (route: string): void =>
      log.warn(
        { route },
        "the server does not take reads of this route many at a time: they are made one by one",
      ),
  };
}
