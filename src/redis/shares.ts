import type { Clock } from "../clock.ts";
import type { SharedDocuments } from "../engine/documents/persisted.ts";
import type { SharedDocumentOutcome, SharedResponseOutcome } from "../observability/telemetry.ts";
import type { Replicas, SharedKind } from "../rest/client/replicas.ts";
import { type ConnectionSettings, openConnection } from "./connection.ts";
import { MAX_REPLY_BYTES, shareByRedis } from "./replicas.ts";
import { shareDocuments } from "./shared-documents.ts";

interface ShareSettings extends Omit<ConnectionSettings, "url" | "maxReplyBytes"> {
  /** Null: nothing is shared. */
  readonly url: URL | null;
  /** Longest document that is shared, in bytes; null: none is. */
  readonly maxDocumentBytes: number | null;
  readonly operationMaxAgeMs: number | null;
  readonly staleMs: number;
  readonly installation: unknown;
  readonly clock: Clock;
  readonly onDocument: (outcome: SharedDocumentOutcome) => void;
  readonly onResponse: (kind: SharedKind, outcome: SharedResponseOutcome) => void;
}

interface Shares {
  readonly documents: SharedDocuments | null;
  readonly replicas: Replicas | null;
  readonly close: () => void;
}

/** What processes share by one Redis: documents, and what concerns the service. */
export function openRedisShares({
  url,
  maxDocumentBytes: maxBytes,
  clock,
  ...settings
}: ShareSettings): Shares {
  if (!url) return { documents: null, replicas: null, close: () => {} };
  // One more byte than a document may have tells that it is too long.
  const redis = openConnection({
    ...settings,
    url,
    maxReplyBytes: Math.max(MAX_REPLY_BYTES, (maxBytes ?? 0) + 1),
  });
  return {
    documents: maxBytes === null ? null : shareDocuments({ redis, maxBytes, onOutcome: settings.onDocument }),
    replicas: shareByRedis({
      redis,
      installation: settings.installation,
      operationMaxAgeMs: settings.operationMaxAgeMs,
      staleMs: settings.staleMs,
      now: clock.isCommon ? clock.now : null,
      onOutcome: settings.onResponse,
    }),
    close: redis.close,
  };
}
