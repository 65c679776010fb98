import type { Caller, Callers, Full, Quota, Shares } from "../caller.ts";
import type { Config } from "../config.ts";
import { OVERLOADED, Failure } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { type Link, TransientList } from "../transient.ts";

const OPERATIONS = "operations under way";

/** Creates the ways in. `turnAway`: returns true where the queue of upstream requests has no room for an operation of the caller, and counts it. */
export function createDoors(config: Config, callers: Callers, turnAway: (caller: Caller) => boolean) {
  const { MAX_OPERATIONS: all, MAX_UNPROVEN_MUTATIONS: mutations } = config;
  // Strangers may have all that others do not need, since they give way.
  const operations = { total: all, perCaller: config.MAX_OPERATIONS_PER_TOKEN, address: all, strangers: all };
  const streams = { total: config.MAX_SUBSCRIPTIONS, perCaller: config.MAX_SUBSCRIPTIONS_PER_TOKEN };
  const downloads = { total: config.MAX_DOWNLOADS, perCaller: config.MAX_DOWNLOADS_PER_TOKEN };
  const half = Math.ceil(mutations / 2);
  const ofStrangers = { total: mutations, perCaller: half, address: half, strangers: mutations };
  let isDraining = false;
  const whileOpen = () =>
    isDraining ? new Failure("SERVICE_OVERLOADED", "The gateway shuts down; connect again.") : null;
  const doorTo = (kind: string, shares: Shares, closedFor: ClosedFor = () => null) =>
    new Door(kind, callers.quota(shares), closedFor);
  return {
    operation: doorTo(OPERATIONS, operations, (caller, paused) =>
      // Those that wait for their pace hold no places, but memory.
      paused >= 4 * all || turnAway(caller) ? overloaded() : null,
    ),
    stream: doorTo("subscriptions", streams, whileOpen),
    socket: doorTo("WebSockets", streams, whileOpen),
    download: doorTo("downloads under way", downloads),
    // Of callers that are not proven.
    mutation: doorTo("mutations under way", ofStrangers),
    /** Stops admitting what lasts until somebody ends it. */
    drain: (): void => {
      isDraining = true;
    },
  };
}

export type Doors = ReturnType<typeof createDoors>;

/** Why nobody, or not this caller, gets a place, whatever is free; null when that counts. */
type ClosedFor = (caller: Caller, paused: number) => Failure | null;

/** Admits callers to the limited places of a kind: by POST, GET, event stream, WebSocket, download and `/mcp` alike. */
class Door {
  /** What messages call its places. */
  readonly kind: string;
  readonly quota: Quota;
  /** Those that others have meanwhile. */
  paused = 0;
  /** Those that newcomers may take, the longest idle first. */
  readonly idle = new TransientList<Place>();
  /** Those that their strangers have while nobody with a better right to them comes, the oldest first. */
  readonly lent = new TransientList<Place>();
  readonly #closedFor: ClosedFor;

  constructor(kind: string, quota: Quota, closedFor: ClosedFor) {
    this.kind = kind;
    this.quota = quota;
    this.#closedFor = closedFor;
  }

  get taken(): number {
    return this.quota.taken + this.paused;
  }

  /** Takes a place that is free or gives way. Returns an error if there is none. */
  take(caller: Caller): Place | Failure {
    const closed = this.#closedFor(caller, this.paused);
    if (closed) return closed;
    for (;;) {
      const full = this.quota.fullFor(caller);
      if (!full) return new Place(this, caller);
      const other = this.#givingWay(full, caller);
      if (!other) return errorOf(full, this.kind);
      other.giveWay();
    }
  }

  /** Takes a place for a scope, which releases its place of another kind. Throws `Failure` if there is none. */
  admit(scope: RequestScope): void {
    if (scope.placeKind === this.kind) return;
    const place = this.take(scope.caller);
    if (place instanceof Failure) throw place;
    scope.hold(place);
  }

  pause(change: 1 | -1): void {
    this.paused += change;
    this.quota.taken -= change;
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

export class Place {
  readonly kind: string;
  readonly caller: Caller;
  readonly #door: Door;
  /** The list of those that give way in which it is, and what ends what holds it. */
  #offer: {
    readonly list: TransientList<Place>;
    readonly link: Link<Place>;
    readonly end: () => void;
  } | null = null;
  #isReleased = false;
  #isPaused = false;

  constructor(door: Door, caller: Caller) {
    this.kind = door.kind;
    this.caller = caller;
    this.#door = door;
    door.quota.add(caller, 1);
  }

  /** Gives the place back. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.markUsed();
    if (this.#isPaused) this.#door.pause(-1);
    this.#door.quota.add(this.caller, -1);
  }

  /** Leaves it to other callers for a while; it goes on counting for its own. */
  pause(): void {
    this.#isPaused = true;
    this.#door.pause(1);
  }

  /** Has it again, whether or not there is room. */
  resume(): void {
    if (this.#isReleased) return;
    this.#isPaused = false;
    this.#door.pause(-1);
  }

  /** Marks the place as idle: newcomers may take it. `end` then ends what holds it. */
  markIdle(end: () => void): void {
    this.#offerIn(this.#door.idle, end);
  }

  /** An operation of a stranger goes on until others need its place. `end` then ends it. */
  lend(end: () => void): void {
    if (this.kind === OPERATIONS && this.caller.standing !== "proven") this.#offerIn(this.#door.lent, end);
  }

  /** Whether it gives way: its caller is still a stranger. Paused it counts among strangers, but not among all places. */
  isLent(areAllTaken: boolean): boolean {
    return this.caller.standing !== "proven" && !(this.#isPaused && areAllTaken);
  }

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

const overloaded = () => new Failure("SERVICE_OVERLOADED", OVERLOADED);

function errorOf(full: Full, kind: string): Failure {
  if (full === "caller")
    return new Failure("RATE_LIMITED", `This caller has as many ${kind} as one may have.`, RETRY);
  if (full === "address")
    return new Failure(
      "RATE_LIMITED",
      `Callers at this address whose tokens the service has not accepted yet have as many ${kind} as they may have.`,
      RETRY,
    );
  return kind === OPERATIONS
    ? overloaded()
    : new Failure("SERVICE_OVERLOADED", `The gateway has as many ${kind} as it may have.`);
}
