import { LRUCache } from "lru-cache";
import type { Log } from "./log.ts";
import { causeOf } from "../rest/client/failure.ts";
import { fileURLToPath } from "node:url";
import { FOLDER } from "../package-info.ts";

/** Failures with the same cause are logged once within this time, in milliseconds. */
const FAILURE_LOGGED_MS = 60_000;

/** Creates the log of events for operators. Repeated events are not logged again. */
export function createEventLog(log: Log) {
  /** The routes and paths that were logged. Their number is limited by the number of known keys. */
  const wrongTypes = new Set<string>();
  const failures = new LRUCache<string, true>({ max: 100, ttl: FAILURE_LOGGED_MS });

  /** Logs an unexpected error with its stack and the path of the failed field. */
  const unexpected = (error: unknown, path?: readonly (string | number)[]): void =>
    log.error(reportOf(error, path), "unexpected error");

  return {
    unexpected,

    /** Logs an upstream value that was replaced with null because of its type, once for each path. */
    wrongType: (route: string, at: string): void => {
      const path = at.replaceAll(/\d+/g, "*");
      const key = `${route} ${path}`;
      if (wrongTypes.has(key)) return;
      wrongTypes.add(key);
      log.warn({ route, place: path }, "the service sent a value of another type: it reads as null");
    },

    /** Logs the cause of a failed upstream request: a code such as `CERT_HAS_EXPIRED`, or a bug of the gateway. */
    upstreamFailure: (cause: unknown): void => {
      const code = causeOf(cause);
      if (code === null) return unexpected(cause);
      if (failures.has(code)) return;
      failures.set(code, true);
      log.warn({ cause: code }, "a request to the service failed");
    },

    /** Logs that the server rejects the list request of a batch although it serves the single reads. */
    refusedBatch: (route: string): void =>
      log.warn(
        { route },
        "the server does not take reads of this route many at a time: they are made one by one",
      ),
  };
}

const ROOT = fileURLToPath(FOLDER);
const MAX_LOGGED_FIELD_LENGTH = 200;

/**
 * Reduces an error to details that are safe to log: its class, the path of the failed field (`group.hptuning.raw`), and stack frames, the
 * innermost first (`dist/src/graphql/types/group.js:12:5`). Own code, because pino's serializer logs the message and the own keys of an
 * error. They can contain data of requests and responses, and absolute paths of the installation.
 */
function reportOf(error: unknown, path: readonly (string | number)[] = []) {
  const lines = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  return {
    error: error instanceof Error ? error.constructor.name : typeof error,
    ...(path.length > 0 && { field: path.join(".").slice(0, MAX_LOGGED_FIELD_LENGTH) }),
    at: lines.flatMap(frameOf),
  };
}

function frameOf(line: string): string[] {
  const location = /^ {4}at (?:.*[ (])?([^ ()]+:\d+:\d+)\)?$/.exec(line)?.[1]?.replace("file://", "");
  if (!location) return [];
  if (location.startsWith("node:")) return [location];
  if (location.startsWith(ROOT)) return [location.slice(ROOT.length)];
  const [, ...inside] = location.split("node_modules/");
  return inside.slice(-1);
}
