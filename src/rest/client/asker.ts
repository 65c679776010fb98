import type { Demand } from "../../line.ts";
import type { EndReason } from "../../request-scope.ts";

/** How long something is wanted. */
export interface Life {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** Why it has ended; null while it lasts. */
  readonly ended: EndReason | null;
  /** Calls back once at the end, immediately after it. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** Who waits for a response: an operation, or all that share a read. */
export interface Asker extends Life, Demand {
  /** Whether a read may wait so long for its pace, in milliseconds. Of several, those who may not get the error. */
  canWait(ms: number, late: () => Error): boolean;
  /** Counts a request that is about to be sent. Throws `UpstreamError` above the limit of all who wait for it. */
  charge(): void;
  /** While it waits for its pace, it holds no place of the gateway. */
  pause(): void;
  resume(): void;
  /** Counts bytes that are held from now on. Throws `UpstreamError` above the limit of the caller. */
  hold(bytes: number): void;
}
