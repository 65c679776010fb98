import type { Caller, Callers, Full, Quota, Shares } from "../caller.ts";
import { OVERLOADED, UpstreamError } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { type Link, TransientList } from "../transient.ts";

/** The kinds of place: what messages call them, and whether they last until somebody ends them. Such do not begin during a drain. */
const KINDS = {
  operation: { name: "operations under way", lasts: false },
  stream: { name: "subscriptions", lasts: true },
  socket: { name: "WebSockets", lasts: true },
  download: { name: "downloads under way", lasts: false },
  // Of callers that are not proven.
  mutation: { name: "mutations under way", lasts: false },
};

export type PlaceKind = keyof typeof KINDS;

interface DoorSettings {
  readonly callers: Callers;
  readonly quotas: Readonly<Record<PlaceKind, Shares>>;
  /** Whether the queue of upstream requests has no room for an operation of the caller. */
  readonly isQueueFull: (caller: Caller) => boolean;
}

/**
 * Admits callers to the limited places of each kind: by POST, GET, event stream, WebSocket, download and `/mcp` alike.
 */
export class Doors {
  readonly #places: Readonly<Record<PlaceKind, Places>>;
  readonly #isQueueFull: DoorSettings["isQueueFull"];
  #isDraining = false;

  constructor({ callers, quotas, isQueueFull }: DoorSettings) {
    const open = ([kind, shares]: [string, Shares]) => [kind, new Places(callers.quota(shares))];
    // Safe: both have the same kinds.
    this.#places = Object.fromEntries(Object.entries(quotas).map(open)) as Record<PlaceKind, Places>;
    this.#isQueueFull = isQueueFull;
  }

  /** Whether a caller can have a place of a kind now. */
  hasRoom(kind: PlaceKind, caller: Caller): boolean {
    return !this.#closedFor(kind, caller) && !this.#places[kind].fullFor(caller);
  }

  /** Takes a place. Returns an error if there is none. */
  take(kind: PlaceKind, caller: Caller): Place | UpstreamError {
    const closed = this.#closedFor(kind, caller);
    if (closed) return closed;
    const place = this.#places[kind].take(kind, caller);
    return place instanceof Place ? place : errorOf(place, kind);
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
    const { quota, paused } = this.#places[kind];
    return quota.taken + paused;
  }

  /** Why nobody, or not this caller, gets a place of a kind, whatever is free. */
  #closedFor(kind: PlaceKind, caller: Caller): UpstreamError | null {
    if (this.#isDraining && KINDS[kind].lasts)
      return new UpstreamError("SERVICE_OVERLOADED", "The gateway shuts down; connect again.");
    return kind === "operation" && this.#isQueueFull(caller) ? overloaded() : null;
  }
}

/** The places of a kind. */
class Places {
  readonly quota: Quota;
  /** Those that others have meanwhile. */
  paused = 0;
  /** Those that newcomers may take, the longest idle first. */
  readonly idle = new TransientList<Place>();
  /** Those that their strangers have while nobody with a better right to them comes, the oldest first. */
  readonly lent = new TransientList<Place>();

  constructor(quota: Quota) {
    this.quota = quota;
  }

  /** Whose places are all taken for the caller; null when it can take one that is free or gives way. */
  fullFor(caller: Caller): Full | null {
    const full = this.quota.fullFor(caller);
    return full && this.#givingWay(full, caller) ? null : full;
  }

  pause(change: 1 | -1): void {
    this.paused += change;
    this.quota.taken -= change;
  }

  /** Takes a place that is free or gives way. Returns whose places are all taken if there is none. */
  take(kind: PlaceKind, caller: Caller): Place | Full {
    for (;;) {
      const full = this.quota.fullFor(caller);
      if (!full) return new Place(kind, this, caller);
      const other = this.#givingWay(full, caller);
      if (!other) return full;
      other.giveWay();
    }
  }

  /** The place that gives way among those that are all taken. */
  #givingWay(full: Full, caller: Caller): Place | null {
    const idle = this.idle.members().find((place) => IS_AMONG[full](place.caller, caller));
    return idle ?? (full === "strangers" || full === "gateway" ? this.#lentFor(caller) : null);
  }

  /** One of the address with most, for a caller who is proven or at an address that will not have more. */
  #lentFor(caller: Caller): Place | null {
    const ofAddress = (place: Place) => this.quota.of(place.caller.address);
    const areAllTaken = this.quota.areAllTaken();
    let most: Place | null = null;
    for (const place of this.lent.members())
      if (place.isLent(areAllTaken) && (!most || ofAddress(place) > ofAddress(most))) most = place;
    const hasRight =
      caller.standing === "proven" || (most && ofAddress(most) > this.quota.of(caller.address) + 1);
    return hasRight ? most : null;
  }
}

/** One place of a caller. */
export class Place {
  readonly kind: PlaceKind;
  readonly caller: Caller;
  readonly #places: Places;
  /** The list of those that give way in which it is, and what ends what holds it. */
  #offer: {
    readonly list: TransientList<Place>;
    readonly link: Link<Place>;
    readonly end: () => void;
  } | null = null;
  #isReleased = false;
  #isPaused = false;

  constructor(kind: PlaceKind, places: Places, caller: Caller) {
    this.kind = kind;
    this.caller = caller;
    this.#places = places;
    places.quota.add(caller, 1);
  }

  /** Gives the place back. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.markUsed();
    if (this.#isPaused) this.#places.pause(-1);
    this.#places.quota.add(this.caller, -1);
  }

  /** Leaves it to other callers for a while; it goes on counting for its own. */
  pause(): void {
    this.#isPaused = true;
    this.#places.pause(1);
  }

  /** Has it again, whether or not there is room. */
  resume(): void {
    if (this.#isReleased) return;
    this.#isPaused = false;
    this.#places.pause(-1);
  }

  /** Marks the place as idle: newcomers may take it. `end` then ends what holds it. */
  markIdle(end: () => void): void {
    this.#offerIn(this.#places.idle, end);
  }

  /** An operation of a stranger goes on until others need its place. `end` then ends it. */
  lend(end: () => void): void {
    if (this.kind === "operation" && this.caller.standing !== "proven") this.#offerIn(this.#places.lent, end);
  }

  /** Whether it gives way: its caller is still a stranger. Paused it counts among strangers, but not among all places. */
  isLent(areAllTaken: boolean): boolean {
    return this.caller.standing !== "proven" && !(this.#isPaused && areAllTaken);
  }

  /** Marks the place as used. */
  markUsed(): void {
    this.#offer?.list.remove(this.#offer.link);
    this.#offer = null;
  }

  /** Gives the place back and ends what holds it. */
  giveWay(): void {
    const offer = this.#offer;
    this.release();
    offer?.end();
  }

  #offerIn(list: TransientList<Place>, end: () => void): void {
    if (!this.#isReleased && !this.#offer) this.#offer = { list, link: list.add(this), end };
  }
}

/** Whether the place of another counts among those that are all taken for a caller. */
const IS_AMONG: Readonly<Record<Full, (other: Caller, caller: Caller) => boolean>> = {
  caller: (other, caller) => other === caller,
  address: (other, caller) => other.standing !== "proven" && other.address === caller.address,
  strangers: (other) => other.standing !== "proven",
  gateway: () => true,
};

const RETRY = { retryAfterSeconds: 1 };

const overloaded = () => new UpstreamError("SERVICE_OVERLOADED", OVERLOADED);

function errorOf(full: Full, kind: PlaceKind): UpstreamError {
  const { name } = KINDS[kind];
  if (full === "caller")
    return new UpstreamError("RATE_LIMITED", `This caller has as many ${name} as one may have.`, RETRY);
  if (full === "address")
    return new UpstreamError(
      "RATE_LIMITED",
      `Callers at this address whose tokens the service has not accepted yet have as many ${name} as they may have.`,
      RETRY,
    );
  return kind === "operation"
    ? overloaded()
    : new UpstreamError("SERVICE_OVERLOADED", `The gateway has as many ${name} as it may have.`);
}
