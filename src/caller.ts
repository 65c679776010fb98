import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ownCopy } from "./util/own-copy.ts";

/** `proven` for a while after the service has accepted the token; `anonymous` without a token; otherwise `unproven`. */
export type Standing = "proven" | "unproven" | "anonymous";

/** How long a token counts as accepted after the last response of the service that shows it, in milliseconds. */
const PROVEN_MS = 600_000;

/** How long a caller with its token is remembered after its last request, in milliseconds, and how often such are looked for. */
const REMEMBERED_MS = 600_000;
const FORGET_MS = 60_000;

/**
 * Upper bounds on remembered callers, of verified ones and of all others: their number, and the characters of their tokens, which
 * may have 16 kB each. A caller who is forgotten starts over.
 */
const REMEMBERED_CALLERS = {
  max: 10_000,
  maxSize: 16_000_000,
  sizeCalculation: (_: Caller, key: string) => key.length,
};

/**
 * Who sends requests: all those of one token, or without one those of an address. Whatever parts of the gateway keep for a
 * caller is kept by this object, and forgotten with it.
 */
export class Caller {
  /** The token to forward; null without one. */
  readonly token: string | null;
  /** Identifies the caller: a salted hash of the token, or the address of a caller without one. Logs have its beginning. */
  readonly key: string;
  /** The caller without a token at the same address; itself without a token. */
  readonly address: Caller;
  /** Changed by `Callers.move` alone. */
  standing: Standing;
  /** Its own, by the numbers of quotas and of what is kept. */
  readonly counts: number[] = [];
  readonly kept: unknown[] = [];
  /** When it sent its last request. */
  usedAt = 0;
  /** How often its token was accepted no more: it may mean somebody else since. */
  losses = 0;
  readonly #callers: Callers;
  /** Until when its token counts as accepted. */
  provenUntil = 0;

  /** Called by `Callers.of`. */
  constructor(callers: Callers, token: string | null, key: string, address: Caller | null) {
    this.#callers = callers;
    this.token = token;
    this.key = key;
    this.address = address ?? this;
    this.standing = token === null ? "anonymous" : "unproven";
  }

  /**
   * Whose limits apply: the caller itself if it is proven or has no token, otherwise the caller without a token at its
   * address. Anyone can invent tokens, so an unproven one must not add to what its address may have.
   */
  get account(): Caller {
    return this.standing === "unproven" ? this.address : this;
  }

  /** Records that the service has accepted the token, where there is one. It counts as accepted from the first time on. */
  prove(): void {
    this.provenUntil = performance.now() + PROVEN_MS;
    if (this.standing === "unproven") this.#callers.move(this, "proven");
  }

  unprove(): void {
    if (this.standing === "proven") this.#callers.move(this, "unproven");
  }
}

/** What one part of the gateway keeps for each caller, from the first time it is asked for. */
export interface Kept<Part> {
  readonly of: (caller: Caller) => Part;
  /** Without making it. */
  readonly find: (caller: Caller) => Part | undefined;
}

/** Whose share is used up: the caller's own, that of the strangers at its address, that of all strangers, or everything. */
export type Full = "caller" | "address" | "strangers" | "gateway";

/** How much of something there is, and how much of it callers may have. */
export interface Shares {
  readonly total: number;
  readonly perCaller: number;
  /** What callers that are not proven may have: those of one address together, and all of them together. */
  readonly address?: number;
  readonly strangers?: number;
}

/** How much callers have at a time of something: operations, sockets, bytes that are held or wait. */
export class Quota {
  taken = 0;
  readonly #index: number;
  readonly #shares: Required<Shares>;
  #ofStrangers = 0;
  readonly #holders = new Set<Caller>();

  /** Called by `Callers.quota`. */
  constructor(index: number, { total, perCaller, address, strangers }: Shares) {
    this.#index = index;
    this.#shares = {
      total,
      perCaller,
      address: address ?? Math.max(perCaller, Math.ceil(total / 4)),
      strangers: strangers ?? Math.ceil(total / 2),
    };
  }

  /** What a caller has. For one without a token: with all strangers at its address. */
  of(caller: Caller): number {
    return caller.counts[this.#index] ?? 0;
  }

  /** Whose share would be exceeded by one more; null when there is room. */
  fullFor(caller: Caller): Full | null {
    const { perCaller, address, strangers } = this.#shares;
    const { standing } = caller;
    if (standing !== "anonymous" && this.of(caller) >= perCaller) return "caller";
    if (standing !== "proven") {
      if (this.of(caller.address) >= address) return "address";
      if (this.#ofStrangers >= strangers) return "strangers";
    }
    return this.areAllTaken() ? "gateway" : null;
  }

  areAllTaken(): boolean {
    return this.taken >= this.#shares.total;
  }

  /** Adds to what a caller has, whether or not there is room; a negative amount is given back. */
  add(caller: Caller, amount: number): void {
    this.taken += amount;
    this.#change(caller, amount);
    if (caller.standing !== "proven") this.addToStrangers(caller, amount);
  }

  /** Counts what a stranger takes, or has when a caller becomes a stranger or is one no more, for its address as well. */
  addToStrangers(caller: Caller, amount: number): void {
    this.#ofStrangers += amount;
    if (caller.address !== caller) this.#change(caller.address, amount);
  }

  /** The accounts that have something. */
  accounts(): Caller[] {
    return [...this.#holders].filter((caller) => caller.account === caller);
  }

  #change(caller: Caller, amount: number): void {
    const before = caller.counts[this.#index] ?? 0;
    const now = before + amount;
    caller.counts[this.#index] = now;
    if (now === 0) this.#holders.delete(caller);
    else if (before === 0) this.#holders.add(caller);
  }
}

/** The callers of one gateway, what its parts keep for them, and how much each may have. */
export class Callers {
  readonly #salt: string;
  readonly #proven = new LRUCache<string, Caller>(REMEMBERED_CALLERS);
  readonly #strangers = new LRUCache<string, Caller>(REMEMBERED_CALLERS);
  readonly #quotas: Quota[] = [];
  #keeps = 0;
  #forgotAt = 0;

  /** With the same salt callers have the same keys in all processes; by default keys mean nothing outside of this one. */
  constructor(salt = randomBytes(16).toString("hex")) {
    this.#salt = salt;
  }

  /** The caller with this token, or, without one, at this address. */
  of(token: string | null, address: string): Caller {
    // No token contains a line end.
    const at = this.#find(`\n${address}`, (key) => new Caller(this, null, `at ${key.slice(1)}`, null));
    const caller = token === null ? at : this.withToken(token, at);
    const now = performance.now();
    at.usedAt = now;
    caller.usedAt = now;
    if (now > this.#forgotAt + FORGET_MS) this.#forget(now);
    return caller;
  }

  /** The caller with a token. While it is not proven it counts at the address from which it came first. */
  withToken(token: string, at: Caller): Caller {
    const create = (own: string) =>
      new Caller(this, own, hash("sha256", `${this.#salt} ${own}`, "base64url"), at);
    const caller = this.#proven.get(token) ?? this.#find(token, create);
    if (performance.now() > caller.provenUntil) caller.unprove();
    return caller;
  }

  keep<Part extends {}>(create: (caller: Caller) => Part): Kept<Part> {
    const index = this.#keeps++;
    return {
      of: (caller) => (caller.kept[index] ??= create(caller)) as Part,
      find: (caller) => caller.kept[index] as Part | undefined,
    };
  }

  quota(shares: Shares): Quota {
    const quota = new Quota(this.#quotas.length, shares);
    this.#quotas.push(quota);
    return quota;
  }

  /** Called when the standing of a caller with a token changes. What it has counts among that of strangers, or no more. */
  move(caller: Caller, standing: "proven" | "unproven"): void {
    caller.standing = standing;
    const sign = standing === "proven" ? -1 : 1;
    if (sign > 0) caller.losses++;
    for (const quota of this.#quotas) quota.addToStrangers(caller, sign * quota.of(caller));
    const [from, to] =
      standing === "proven" ? [this.#strangers, this.#proven] : [this.#proven, this.#strangers];
    from.delete(String(caller.token));
    to.set(String(caller.token), caller);
  }

  /** Forgets those who have sent nothing for long and have nothing under way. */
  #forget(now: number): void {
    this.#forgotAt = now;
    for (const callers of [this.#proven, this.#strangers])
      for (const [key, { usedAt, counts }] of callers.entries())
        if (now > usedAt + REMEMBERED_MS && counts.every((count) => !count)) callers.delete(key);
  }

  #find(key: string, create: (key: string) => Caller): Caller {
    const known = this.#strangers.get(key);
    if (known) return known;
    const own = ownCopy(key);
    const caller = create(own);
    this.#strangers.set(own, caller);
    return caller;
  }
}
