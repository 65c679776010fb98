import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { TransientMap } from "./transient.ts";

/** Maximum callers that a memory holds; the least recently used are dropped. Each takes some 200 bytes. */
const MAX_REMEMBERED = 20_000;

/** How long facts are kept by default, in milliseconds: servers are updated, and tokens withdrawn. */
const TEN_MINUTES = 600_000;

/** A bounded memory of facts about callers, by their keys, which outlasts their requests. */
export class Memory<Fact extends {}> extends LRUCache<string, Fact> {
  constructor(keptMs = TEN_MINUTES) {
    // A `max` would take the memory for all of them at once.
    super({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1, ttl: keptMs, ttlResolution: 1_000 });
  }
}

/** `proven` for a while after the service has accepted the token; `anonymous` without a token; otherwise `unproven`. */
export type Standing = "proven" | "unproven" | "anonymous";

/** How long a token counts as accepted after the last response of the service that shows it, in milliseconds. */
const PROVEN_MS = 600_000;

/** What one part of the gateway keeps for each caller, from the first time it enters until it has left as often. */
export class Room<Part extends {}> {
  readonly create: (caller: Caller) => Part;
  /** By the keys of callers; `uses` is how many more times each has entered than left. */
  readonly slots = new TransientMap<{ readonly part: Part; uses: number }>();

  /** Called by `Callers.room`. */
  constructor(create: (caller: Caller) => Part) {
    this.create = create;
  }

  get size(): number {
    return this.slots.size;
  }

  /** What the room keeps for all callers, as a copy. */
  parts(): Part[] {
    return this.slots.values().map(({ part }) => part);
  }
}

/**
 * Who sends a request. Each operation, stream or socket has a caller of its own, a small object; those of one token
 * have the same key, and find what the rooms keep for that key.
 */
export class Caller {
  /** The token to forward; null without one. */
  readonly token: string | null;
  /** Identifies the caller: a salted hash of the token, or the address of a caller without one. Logs have its beginning. */
  readonly key: string;
  /** Address of the client. */
  readonly address: string;
  /** Only `prove` and `unprove` change it. */
  standing: Standing;
  readonly #callers: Callers;
  /** When this object last recorded that the service accepts the token. */
  #provenAt = -Infinity;
  #address: Caller | null = null;

  /** Called by `Callers.of`. */
  constructor(callers: Callers, token: string | null, address: string) {
    this.#callers = callers;
    this.address = address;
    this.token = token;
    this.key = token === null ? `at ${address}` : callers.keyOf(token);
    this.standing = token === null ? "anonymous" : callers.proven.has(this.key) ? "proven" : "unproven";
  }

  /**
   * Whose limits apply: the caller itself if it is proven or has no token, otherwise the caller without a token at its
   * address. Anyone can invent tokens, so an unproven one must not add to what its address may have.
   */
  get account(): Caller {
    if (this.standing !== "unproven") return this;
    return (this.#address ??= this.#callers.of(null, this.address));
  }

  /** Records that the service has accepted the token. It counts as accepted from the first time on. */
  prove(): void {
    const now = performance.now();
    if (this.token === null || now - this.#provenAt < PROVEN_MS / 10) return;
    this.#provenAt = now;
    this.standing = "proven";
    this.#callers.accept(this);
  }

  /** Records that the service has rejected the token. */
  unprove(): void {
    if (this.token === null) return;
    this.standing = "unproven";
    this.#provenAt = -Infinity;
    this.#callers.proven.delete(this.key);
  }

  /** What a room keeps for this caller; undefined unless it is in the room. */
  partIn<Part extends {}>(room: Room<Part>): Part | undefined {
    return room.slots.get(this.key)?.part;
  }

  /** Enters a room. Each call requires one call of `leave`. */
  enter<Part extends {}>(room: Room<Part>): Part {
    let slot = room.slots.get(this.key);
    if (!slot) {
      slot = { part: room.create(this), uses: 0 };
      room.slots.set(this.key, slot);
    }
    slot.uses++;
    return slot.part;
  }

  leave<Part extends {}>(room: Room<Part>): void {
    const slot = room.slots.get(this.key);
    if (slot && --slot.uses === 0) room.slots.delete(this.key);
  }
}

/** How much of something there is in total, and how much of it one caller may have at a time. */
export interface Quota {
  readonly total: number;
  readonly perCaller: number;
}

/** What callers that are not proven may have: those of one address together, and all of them together. */
export const sharesOf = ({ total, perCaller }: Quota) => ({
  address: Math.max(perCaller, Math.ceil(total / 4)),
  strangers: Math.ceil(total / 2),
});

/** What a caller has entered. Must be left once. */
export interface Entered<Part> {
  readonly part: Part;
  readonly leave: () => void;
}

/**
 * Rooms whose parts form a tree: those of proven callers and of addresses at the top, and below an address those of its
 * callers that are not proven. If the parts of each level take turns, inventing tokens gains no turns.
 */
export class AccountRooms<Part extends {}> {
  readonly #proven: Room<Part>;
  readonly #addresses: Room<Part>;
  readonly #unproven: Room<Part>;

  constructor(callers: Callers, parts: { address: () => Part; caller: (address: Part | null) => Part }) {
    this.#proven = callers.room(() => parts.caller(null));
    this.#addresses = callers.room(() => parts.address());
    this.#unproven = callers.room(({ account }) => parts.caller(account.partIn(this.#addresses) ?? null));
  }

  /** Number of parts at the top. */
  get accounts(): number {
    return this.#proven.size + this.#addresses.size;
  }

  /** Number of parts below those of addresses. */
  get unproven(): number {
    return this.#unproven.size;
  }

  enter(caller: Caller): Entered<Part> {
    const { account } = caller;
    const top = this.#topOf(account);
    const part = account.enter(top);
    if (account === caller) return { part, leave: () => caller.leave(top) };
    return {
      part: caller.enter(this.#unproven),
      leave: () => {
        caller.leave(this.#unproven);
        account.leave(top);
      },
    };
  }

  /** The part of a caller's account, and the caller's own; `own` is null if the caller is the account. */
  of(caller: Caller): { readonly account: Part | undefined; readonly own: Part | null | undefined } {
    const { account } = caller;
    return {
      account: account.partIn(this.#topOf(account)),
      own: account === caller ? null : caller.partIn(this.#unproven),
    };
  }

  /** An account with a token is a proven caller, one without is an address. */
  #topOf({ token }: Caller): Room<Part> {
    return token === null ? this.#addresses : this.#proven;
  }
}

/**
 * The callers of one gateway. A part of the gateway that keeps something for each caller creates a room for it; nothing
 * is counted by caller elsewhere.
 */
export class Callers {
  readonly proven = new Memory<true>(PROVEN_MS);
  readonly #onProven: ((caller: Caller) => void)[] = [];
  readonly #salt: string;

  /** With the same salt callers have the same keys in all processes; by default keys mean nothing outside of this one. */
  constructor(salt = randomBytes(16).toString("hex")) {
    this.#salt = salt;
  }

  /** The key of a caller with this token. */
  keyOf(token: string): string {
    return hash("sha256", `${this.#salt} ${token}`, "base64url");
  }

  /** The caller with this token, or, without one, at this address. */
  of(token: string | null, address: string): Caller {
    return new Caller(this, token, address);
  }

  /** Creates a room. `create` makes what it keeps for a caller. */
  room<Part extends {}>(create: (caller: Caller) => Part): Room<Part> {
    return new Room(create);
  }

  /** Calls back when a caller becomes proven. */
  onProven(callback: (caller: Caller) => void): void {
    this.#onProven.push(callback);
  }

  accept(caller: Caller): void {
    const isNew = !this.proven.has(caller.key);
    this.proven.set(caller.key, true);
    if (isNew) for (const callback of this.#onProven) callback(caller);
  }
}
