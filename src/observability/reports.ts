import type { Caller } from "../caller.ts";

/** What is told of every request. */
interface RequestReport {
  readonly requestId: string;
  readonly caller: Pick<Caller, "token" | "key" | "standing">;
  /** The trace that the request belongs to; null without one. */
  readonly traceId: string | null;
  readonly ms: number;
  /** Where it failed. */
  readonly failed: readonly object[];
}

export interface OperationReport extends RequestReport {
  readonly type: "query" | "mutation" | "subscription" | "invalid";
  readonly name: string | null;
  /** SHA-256 of its document, in hexadecimal; null when that is invalid. */
  readonly hash: string | null;
  /** The HTTP status of its result; null by WebSocket. */
  readonly status: number | null;
  /** The distinct codes of its errors. */
  readonly codes: readonly string[];
  /** Number of upstream requests that were sent for it, retries included. */
  readonly upstreamRequests: number;
}

export interface DownloadReport extends RequestReport {
  readonly what: "logs" | "outputs" | "files" | "runs" | "metrics";
  /** `OK`, or the code of its error, even of one after the response started. */
  readonly code: string;
  /** Bytes of the file that were sent to the caller. */
  readonly bytes: number;
}
