import type { RateLimit } from "../../rate.ts";
import type { RequestScope } from "../../request-scope.ts";

/** Who shares a response: polls of subscriptions, or operations. */
export type SharedKind = "poll" | "operation";

export interface SharedRead {
  readonly kind: SharedKind;
  /** The token with which it is read. */
  readonly token: string;
  /** The path on the service, with the query. */
  readonly path: string;
  /** What else its requests have in common, such as the headers of every request. */
  readonly variant: string;
  /** How old the response may be, in milliseconds. */
  readonly maxAgeMs: number;
  /** Called with how long the response has been the same for all processes, in milliseconds. */
  readonly onUnchanged: ((ms: number) => void) | null;
}

/** A response, and how old it is in milliseconds. */
interface LastResponse {
  readonly body: Buffer;
  readonly ageMs: number;
}

/** A response that another process has got, and how long it has been the same, in milliseconds. */
export interface SharedResponse extends LastResponse {
  readonly unchangedMs: number;
}

/** The turn of this process to ask the service, for which others wait. `offer` or `release` must be called. */
export interface SharedTurn {
  /** Tells the others what the service has answered. Returns how long that has been the same, in milliseconds. */
  readonly offer: (body: Buffer) => number;
  /** Lets another process ask, without what was kept before if that `isOver`. */
  readonly release: (isOver: boolean) => void;
}

/** What a process may send of a token's requests. */
export interface Taken {
  readonly granted: number;
  /** When the next request is allowed, in milliseconds; 0 when all were granted. */
  readonly waitMs: number;
  /** How long another process was asked not to send any, in milliseconds. */
  readonly pauseMs: number;
}

/** What all processes together may send of one token's requests. */
export interface SharedRate {
  /** Whether the others can be reached. Otherwise each process counts its own requests. */
  readonly isReachable: () => boolean;
  /** Takes some requests, behind so many others. Resolves with null when the others cannot be reached after all. */
  readonly take: (wanted: number, ahead: number) => Promise<Taken | null>;
  /** Counts a request that is sent anyway: 1; or gives one back: -1. */
  readonly count: (change: 1 | -1) => void;
  /** Tells the others that the service has asked for a pause. */
  readonly pause: (ms: number) => void;
}

/** What the processes of an installation tell each other about a token. Each can do without the others. */
export interface Replicas {
  /** How old a response of another process may be that answers an operation, in milliseconds; null: none does. */
  readonly operationMaxAgeMs: number | null;
  /** How old it may be while the service gives none. */
  readonly staleMs: number;
  /**
   * A response that another process has got, or the turn of this one to ask. Waits for a process that is
   * asking. Resolves with null when the others cannot be reached, and at the end of the scope.
   */
  readonly ask: (scope: RequestScope, read: SharedRead) => Promise<SharedResponse | SharedTurn | null>;
  /** The last response that any process has got, for while the service gives none; null without one. */
  readonly last: (read: SharedRead) => Promise<LastResponse | null>;
  /** Identifies the time since the last command of a token; null when the others cannot be reached. */
  readonly epoch: (token: string) => Promise<string | null>;
  /** Ends the sharing of what was requested so far, for operations or for all. */
  readonly endSharing: (token: string, kinds: "operations" | "all") => Promise<void>;
  readonly rateOf: (token: string, limit: SharedLimit) => SharedRate;
}

export interface SharedLimit extends RateLimit {
  /** How many requests may be sent at once. */
  readonly atOnce: number;
}
