import { LRUCache } from "lru-cache";
import type { Log } from "../log.ts";
import { causeOf } from "../rest/client/failure.ts";
import { reportOf } from "./error-report.ts";

/** Maximum places with wrong types that are logged. Each is logged once. */
const MAX_WRONG_TYPES = 200;

/** Failures with the same cause are logged once in this time, in milliseconds. */
const FAILURE_LOGGED_MS = 60_000;

/** Creates the log of events for operators. Repeated events are not logged again. */
export function createEventLog(log: Log) {
  const wrongTypes = new Set<string>();
  const failures = new LRUCache<string, true>({ max: 100, ttl: FAILURE_LOGGED_MS });

  /** Logs an unexpected error with its stack and the path of the failed field. */
  const unexpected = (error: unknown, path?: readonly (string | number)[]): void =>
    log.error(reportOf(error, path), "unexpected error");

  /** Logs a failure with its cause, unless it was logged a moment ago. */
  const failed = (cause: string, message: string): void => {
    const key = `${cause} ${message}`;
    if (failures.has(key)) return;
    failures.set(key, true);
    log.warn({ cause }, message);
  };

  return {
    unexpected,

    /** Logs a value of the service that reads as null because its type is wrong. */
    wrongType: (route: string, at: string): void => {
      const place = at.replaceAll(/\d+/g, "*");
      const key = `${route} ${place}`;
      if (wrongTypes.has(key) || wrongTypes.size >= MAX_WRONG_TYPES) return;
      wrongTypes.add(key);
      log.warn({ route, place }, "the service sent a value of another type: it reads as null");
    },

    /** Logs the cause of a failed upstream request: a code such as `CERT_HAS_EXPIRED`, or a bug of the gateway. */
    upstreamFailure: (cause: unknown): void => {
      const code = causeOf(cause);
      if (code === null) unexpected(cause);
      else failed(code, "a request to the service failed");
    },

    redis: {
      onConnected: (): void => log.info({}, "connected to Redis"),
      /** Logs why Redis cannot be used: each process keeps its own documents meanwhile. */
      onFailure: (cause: string): void => failed(cause, "persisted documents cannot be shared by Redis"),
    },

    /** Logs a batch whose list the server rejects although it serves the single reads. */
    refusedBatch: (route: string): void =>
      log.warn(
        { route },
        "the server does not take reads of this route many at a time: they are made one by one",
      ),
  };
}
