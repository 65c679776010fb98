import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SharedDocuments } from "../engine/documents/persisted.ts";
import type { SharedDocumentOutcome } from "../observability/telemetry.ts";
import type { Connection } from "./connection.ts";

interface SharedDocumentSettings {
  readonly redis: Connection;
  /** Longest document that is shared, in bytes. */
  readonly maxBytes: number;
  readonly onOutcome: (outcome: SharedDocumentOutcome) => void;
}

/** How long a document is kept in Redis after it was written or found there, in seconds: 30 days. */
const KEPT_SECONDS = 2_592_000;

/** How long this process does not write the same document again, in milliseconds. */
const REWRITE_MS = 3_600_000;
const MAX_WRITTEN = 10_000;

/** Documents that may wait to be written. Further ones are not offered, as each may be long. */
const MAX_WRITES = 50;

const HASH = /^[\da-f]{64}$/;

/**
 * Shares persisted documents between processes by Redis or Valkey. Redis is never needed: while it is away or slow, and
 * for what it has wrong, every process knows the documents that it received itself.
 */
export function shareDocuments({ redis, maxBytes, onOutcome }: SharedDocumentSettings): SharedDocuments {
  const written = new LRUCache<string, true>({ max: MAX_WRITTEN, ttl: REWRITE_MS });
  let writing = 0;
  const keyOf = (id: string) => redis.keyOf(`document:${id}`);

  const share = async (id: string, text: string): Promise<void> => {
    writing += 1;
    const isStored = await redis.ask(["SET", keyOf(id), text, "EX", `${KEPT_SECONDS}`], () => {
      written.delete(id);
      onOutcome("failed");
    });
    writing -= 1;
    if (isStored !== null) onOutcome("stored");
  };

  return {
    find: async (id) => {
      if (!HASH.test(id)) return null;
      // A missing key reads as an empty text, and a text that is too long is cut and does not match its hash.
      const reply = await redis.ask(["GETRANGE", keyOf(id), "0", `${maxBytes}`], () => onOutcome("failed"));
      if (reply === null) return null;
      const text = `${reply}`;
      if (text === "") {
        onOutcome("missing");
        return null;
      }
      if (hash("sha256", text, "hex") !== id) {
        onOutcome("invalid");
        redis.reject("HASH_MISMATCH");
        return null;
      }
      onOutcome("found");
      // Keeps a document that is used.
      void redis.ask(["EXPIRE", keyOf(id), `${KEPT_SECONDS}`], () => {});
      return text;
    },
    offer: (id, text) => {
      if (redis.isPaused() || writing >= MAX_WRITES || written.has(id) || Buffer.byteLength(text) > maxBytes)
        return;
      written.set(id, true);
      void share(id, text);
    },
  };
}
