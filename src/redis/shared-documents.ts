import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SharedDocuments } from "../engine/documents/persisted.ts";
import type { SharedDocumentOutcome } from "../observability/telemetry.ts";
import { openRedis } from "./client.ts";

export interface SharedDocumentSettings {
  readonly url: URL;
  /** PEM of the authorities that may sign the certificate of Redis; undefined: those of Node. */
  readonly ca: string | undefined;
  /** Prefix of every key. */
  readonly prefix: string;
  /** Longest time of a look-up, in milliseconds. */
  readonly timeoutMs: number;
  /** Longest document that is shared, in bytes. */
  readonly maxBytes: number;
  readonly onOutcome: (outcome: SharedDocumentOutcome) => void;
  /** Receives why Redis cannot be used: a code such as `ECONNREFUSED`, without the address. */
  readonly onFailure: (cause: string) => void;
  readonly onConnected: () => void;
}

/** How long a document is kept in Redis after it was written or found there, in seconds: 30 days. */
const KEPT_SECONDS = 2_592_000;

/** How long Redis is not asked after a look-up that took too long, in milliseconds. */
const PAUSE_MS = 5_000;

/** How long this process does not write the same document again, in milliseconds. */
const REWRITE_MS = 3_600_000;
const MAX_WRITTEN = 10_000;

const MIN_CONNECT_MS = 2_000;

/** Documents that may wait to be written. Further ones are not offered, as each may be long. */
const MAX_WRITES = 50;

const HASH = /^[\da-f]{64}$/;

/**
 * Shares persisted documents between processes by Redis or Valkey. Redis is never needed: while it is away or slow, and
 * for what it has wrong, every process knows the documents that it received itself.
 */
export function openSharedDocuments(settings: SharedDocumentSettings) {
  const { timeoutMs, maxBytes, onOutcome, onFailure, onConnected } = settings;
  /** Until when Redis is not asked, by `performance.now()`. */
  let pausedUntil = 0;
  const written = new LRUCache<string, true>({ max: MAX_WRITTEN, ttl: REWRITE_MS });
  let writing = 0;

  const pause = (ms: number, error: unknown): void => {
    pausedUntil = performance.now() + ms;
    onFailure(codeOf(error));
  };
  const keyOf = (id: string) => `${settings.prefix}document:${id}`;
  const redis = openRedis({
    url: settings.url,
    ca: settings.ca,
    connectTimeoutMs: Math.max(MIN_CONNECT_MS, timeoutMs),
    // One more than a document may have tells that it is too long.
    maxReplyBytes: maxBytes + 1,
    onError: (error) => pause(Number.POSITIVE_INFINITY, error),
    onReady: () => {
      pausedUntil = 0;
      onConnected();
    },
  });

  const fail = (error: unknown): null => {
    onOutcome("failed");
    if (error instanceof TookTooLong) pause(PAUSE_MS, error);
    else onFailure(codeOf(error));
    return null;
  };
  const isPaused = () => performance.now() < pausedUntil;

  const find: SharedDocuments["find"] = async (id) => {
    if (!HASH.test(id)) return null;
    if (isPaused()) {
      onOutcome("failed");
      return null;
    }
    try {
      // A missing key reads as an empty text, and a text that is too long is cut and does not match its hash.
      const text = await inTime(timeoutMs, redis.send("GETRANGE", keyOf(id), "0", `${maxBytes}`));
      if (!text) {
        onOutcome("missing");
        return null;
      }
      if (typeof text !== "string" || hash("sha256", text, "hex") !== id) {
        onOutcome("invalid");
        onFailure("HASH_MISMATCH");
        return null;
      }
      onOutcome("found");
      // Keeps a document that is used.
      redis.send("EXPIRE", keyOf(id), `${KEPT_SECONDS}`).catch(() => {});
      return text;
    } catch (error) {
      return fail(error);
    }
  };

  const write = async (id: string, text: string): Promise<void> => {
    writing += 1;
    try {
      await redis.send("SET", keyOf(id), text, "EX", `${KEPT_SECONDS}`);
    } finally {
      writing -= 1;
    }
  };
  const share = async (id: string, text: string): Promise<void> => {
    try {
      await inTime(timeoutMs, write(id, text));
      onOutcome("stored");
    } catch (error) {
      written.delete(id);
      fail(error);
    }
  };
  const offer: SharedDocuments["offer"] = (id, text) => {
    if (isPaused() || writing >= MAX_WRITES || written.has(id) || Buffer.byteLength(text) > maxBytes) return;
    written.set(id, true);
    void share(id, text);
  };

  return { find, offer, close: redis.close };
}

class TookTooLong extends Error {
  readonly code = "TIMEOUT";
}

/** Rejects with `TookTooLong` when a promise takes longer. */
function inTime<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TookTooLong()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The code of an error or of an error reply, such as `WRONGPASS`, otherwise its class. Messages may name the address. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error
    ? `${error.code}`
    : (/^[A-Z]+(?= )/.exec(error.message)?.[0] ?? error.constructor.name);
}
