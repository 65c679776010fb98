import { type Caller, type Callers, type Quota, type Room, sharesOf } from "../caller.ts";
import { TransientList, type Link } from "../transient.ts";

/** A number of places, some of which may be idle. */
class Places {
  readonly limit: number;
  taken = 0;
  /** Idle places, the longest idle first. */
  readonly idle = new TransientList<Place>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Whether a newcomer can have one: a free place, or an idle one. */
  hasRoom(): boolean {
    return this.taken < this.limit || this.idle.size > 0;
  }

  /** Ends what holds the longest idle place, if no place is free. */
  makeRoom(): void {
    if (this.taken >= this.limit) this.idle.first?.member.giveWay();
  }
}

/**
 * Whose places are all taken: the caller's own, those that callers at its address share while they are not proven, or
 * the gateway's.
 */
export type Full = "caller" | "address" | "gateway";

/** The places of one kind that a caller has. */
interface Own {
  readonly places: Places;
  /** Those that also count against its address, because it was not proven when it took them. */
  readonly unproven: TransientList<Place>;
}

/** One place of a caller. */
export class Place {
  readonly kind: string;
  #bounds: readonly Places[];
  #onRelease: () => void;
  #links: Link<Place>[] = [];
  #end: (() => void) | null = null;
  #isReleased = false;

  constructor(kind: string, bounds: readonly Places[], onRelease: () => void) {
    this.kind = kind;
    this.#bounds = bounds;
    this.#onRelease = onRelease;
    for (const places of bounds) places.taken++;
  }

  /** Gives the place back. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.markUsed();
    for (const places of this.#bounds) places.taken--;
    this.#onRelease();
  }

  /** Marks the place as idle: newcomers may take it. `end` then ends what holds it. */
  markIdle(end: () => void): void {
    if (this.#isReleased || this.#end) return;
    this.#end = end;
    this.#links = this.#bounds.map(({ idle }) => idle.add(this));
  }

  /** Marks the place as used. */
  markUsed(): void {
    this.#links.forEach((link, index) => this.#bounds[index]?.idle.remove(link));
    this.#links = [];
    this.#end = null;
  }

  /** Gives an idle place back and ends what holds it. */
  giveWay(): void {
    const end = this.#end;
    this.release();
    end?.();
  }

  /** Makes the place count against other bounds. */
  move(bounds: readonly Places[], onRelease: () => void): void {
    const end = this.#end;
    this.markUsed();
    for (const places of bounds) places.taken++;
    for (const places of this.#bounds) places.taken--;
    this.#onRelease();
    this.#bounds = bounds;
    this.#onRelease = onRelease;
    if (end) this.markIdle(end);
  }
}

/**
 * The places of one kind: operations, streams, sockets, downloads or sign-ins at a time. Callers that are not proven
 * share those of their address, and all such callers together may have a part of the whole.
 */
export class PlacesOfKind {
  readonly #kind: string;
  readonly #all: Places;
  readonly #strangers: Places;
  readonly #own: Room<Own>;
  readonly #addresses: Room<Places>;

  constructor(kind: string, callers: Callers, quota: Quota, { address, strangers } = sharesOf(quota)) {
    this.#kind = kind;
    this.#all = new Places(quota.total);
    this.#strangers = new Places(strangers);
    this.#own = callers.room(() => ({ places: new Places(quota.perCaller), unproven: new TransientList() }));
    this.#addresses = callers.room(() => new Places(address));
    callers.onProven((caller) => this.#leaveAddress(caller));
  }

  get taken(): number {
    return this.#all.taken;
  }

  /** Whose places are all taken for the caller; null when it can take one. */
  fullFor(caller: Caller): Full | null {
    const { account, standing } = caller;
    if (standing !== "anonymous" && caller.partIn(this.#own)?.places.hasRoom() === false) return "caller";
    if (standing !== "proven") {
      if (account.partIn(this.#addresses)?.hasRoom() === false) return "address";
      if (!this.#strangers.hasRoom()) return "gateway";
    }
    return this.#all.hasRoom() ? null : "gateway";
  }

  /** Takes a place. Only after `fullFor` has returned null. */
  take(caller: Caller): Place {
    if (caller.standing === "proven") {
      const { places } = caller.enter(this.#own);
      return this.#takeIn([places, this.#all], () => caller.leave(this.#own));
    }
    const { account } = caller;
    const shared = [account.enter(this.#addresses), this.#strangers, this.#all];
    if (account === caller) return this.#takeIn(shared, () => account.leave(this.#addresses));
    const { places, unproven } = caller.enter(this.#own);
    const place = this.#takeIn([places, ...shared], () => {
      unproven.remove(link);
      caller.leave(this.#own);
      account.leave(this.#addresses);
    });
    const link = unproven.add(place);
    return place;
  }

  #takeIn(bounds: readonly Places[], onRelease: () => void): Place {
    for (const places of bounds) places.makeRoom();
    return new Place(this.#kind, bounds, onRelease);
  }

  /** Stops counting the places of a caller that has become proven against its address. */
  #leaveAddress(caller: Caller): void {
    const own = caller.partIn(this.#own);
    for (const place of own?.unproven.members() ?? []) {
      const { places } = caller.enter(this.#own);
      place.move([places, this.#all], () => caller.leave(this.#own));
    }
  }
}
