import type { Caller, Callers, Quota } from "../caller.ts";
import { OVERLOADED, UpstreamError } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { type Full, type Place, PlacesOfKind } from "./places.ts";

/** The kinds of place: what messages call them, and whether they last until somebody ends them. Such do not begin during a drain. */
const KINDS = {
  operation: { name: "operations under way", lasts: false },
  stream: { name: "subscriptions", lasts: true },
  socket: { name: "WebSockets", lasts: true },
  download: { name: "downloads under way", lasts: false },
  signIn: { name: "sign-ins", lasts: false },
};

export type PlaceKind = keyof typeof KINDS;

interface DoorSettings {
  readonly callers: Callers;
  readonly quotas: Readonly<Record<PlaceKind, Quota>>;
  /** Whether the queue of upstream requests has no room for an operation of the caller. */
  readonly isQueueFull: (caller: Caller) => boolean;
}

/**
 * Admits callers to the limited places of each kind: by POST, GET, event stream, WebSocket, download and `/mcp` alike.
 */
export class Doors {
  readonly #kinds: Readonly<Record<PlaceKind, PlacesOfKind>>;
  readonly #isQueueFull: DoorSettings["isQueueFull"];
  #isDraining = false;

  constructor({ callers, quotas, isQueueFull }: DoorSettings) {
    const { signIn } = quotas;
    // Nobody who signs in is proven: all addresses together may have all of the places.
    const shares = { address: signIn.perCaller, strangers: signIn.total };
    this.#kinds = {
      operation: new PlacesOfKind("operation", callers, quotas.operation),
      stream: new PlacesOfKind("stream", callers, quotas.stream),
      socket: new PlacesOfKind("socket", callers, quotas.socket),
      download: new PlacesOfKind("download", callers, quotas.download),
      signIn: new PlacesOfKind("signIn", callers, signIn, shares),
    };
    this.#isQueueFull = isQueueFull;
  }

  /** Why a caller cannot have a place of a kind now; null when it can. */
  rejectionOf(kind: PlaceKind, caller: Caller): UpstreamError | null {
    if (this.#isDraining && KINDS[kind].lasts)
      return new UpstreamError("SERVICE_OVERLOADED", "The gateway shuts down; connect again.");
    const full = this.#kinds[kind].fullFor(caller);
    if (kind === "operation" && (full === "gateway" || (!full && this.#isQueueFull(caller))))
      return new UpstreamError("SERVICE_OVERLOADED", OVERLOADED);
    return full && REJECTIONS[full](KINDS[kind].name);
  }

  /** Takes a place. Returns an error if there is none. */
  take(kind: PlaceKind, caller: Caller): Place | UpstreamError {
    return this.rejectionOf(kind, caller) ?? this.#kinds[kind].take(caller);
  }

  /** Takes a place for a scope, which releases its place of another kind. Returns an error if there is none. */
  admit(kind: PlaceKind, scope: RequestScope): UpstreamError | null {
    if (scope.held === kind) return null;
    const place = this.take(kind, scope.caller);
    if (place instanceof UpstreamError) return place;
    scope.hold(place);
    return null;
  }

  /** Stops admitting what can last long. */
  drain(): void {
    this.#isDraining = true;
  }

  taken(kind: PlaceKind): number {
    return this.#kinds[kind].taken;
  }
}

const RETRY = { retryAfterSeconds: 1 };

const REJECTIONS: Readonly<Record<Full, (what: string) => UpstreamError>> = {
  caller: (what) =>
    new UpstreamError("RATE_LIMITED", `This caller has as many ${what} as one may have.`, RETRY),
  address: (what) =>
    new UpstreamError(
      "RATE_LIMITED",
      `Callers at this address whose tokens the service has not accepted yet have as many ${what} as they may have.`,
      RETRY,
    ),
  gateway: (what) =>
    new UpstreamError("SERVICE_OVERLOADED", `The gateway has as many ${what} as it may have.`),
};
