import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ownCopy } from "../util/own-copy.ts";

/** `proven` for a while after the service has accepted the token; `anonymous` without a token; otherwise `unproven`. */
export type Verification = "verified" | "unverified" | "anonymous";

/** How long a token counts as accepted after the last response of the service that shows it, in milliseconds. */
const VERIFIED_MS = 600_000;

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
  verification: Verification;
  /** Its own, by the numbers of quotas and of what is kept. */
  readonly counts: number[] = [];
  readonly perCaller: unknown[] = [];
  /** When it sent its last request. */
  usedAt = 0;
  /** How often its token was accepted no more: it may mean somebody else since. */
  revocations = 0;
  readonly #callers: CallerRegistry;
  /** Until when its token counts as accepted. */
  verifiedUntil = 0;

  /** Called by `Callers.of`. */
  constructor(callers: CallerRegistry, token: string | null, key: string, address: Caller | null) {
    this.#callers = callers;
    this.token = token;
    this.key = key;
    this.address = address ?? this;
    this.verification = token === null ? "anonymous" : "unverified";
  }

  /**
   * Whose limits apply: the caller itself if it is proven or has no token, otherwise the caller without a token at its
   * address. Anyone can invent tokens, so an unproven one must not add to what its address may have.
   */
  get billedTo(): Caller {
    return this.verification === "unverified" ? this.address : this;
  }

  /** Records that the service has accepted the token, where there is one. It counts as accepted from the first time on. */
  markVerified(): void {
    this.verifiedUntil = performance.now() + VERIFIED_MS;
    if (this.verification === "unverified") this.#callers.move(this, "verified");
  }

  markUnverified(): void {
    if (this.verification === "verified") this.#callers.move(this, "unverified");
  }
}

/** What one part of the gateway keeps for each caller, from the first time it is asked for. */
export interface PerCaller<Part> {
  readonly of: (caller: Caller) => Part;
  /** Without making it. */
  readonly find: (caller: Caller) => Part | undefined;
}

/** Whose share is used up: the caller's own, that of the strangers at its address, that of all strangers, or everything. */
export type ExceededLimit = "caller" | "address" | "unverified" | "gateway";

/** How much of something there is, and how much of it callers may have. */
export interface QuotaLimits {
  readonly total: number;
  readonly perCaller: number;
  /** What callers that are not proven may have: those of one address together, and all of them together. */
  readonly perAddress?: number;
  readonly unverified?: number;
}

/** How much callers have at a time of something: operations, sockets, bytes that are held or wait. */
export class Quota {
  taken = 0;
  readonly #index: number;
  readonly #limits: Required<QuotaLimits>;
  #unverifiedTotal = 0;
  readonly #holders = new Set<Caller>();

  /** Called by `Callers.quota`. */
  constructor(index: number, { total, perCaller, perAddress, unverified }: QuotaLimits) {
    this.#index = index;
    this.#limits = {
      total,
      perCaller,
      perAddress: perAddress ?? Math.max(perCaller, Math.ceil(total / 4)),
      unverified: unverified ?? Math.ceil(total / 2),
    };
  }

  /** What a caller has. For one without a token: with all strangers at its address. */
  of(caller: Caller): number {
    return caller.counts[this.#index] ?? 0;
  }

  /** Whose share would be exceeded by one more; null when there is room. */
  exceededBy(caller: Caller): ExceededLimit | null {
    const { perCaller, perAddress, unverified } = this.#limits;
    const { verification } = caller;
    if (verification !== "anonymous" && this.of(caller) >= perCaller) return "caller";
    if (verification !== "verified") {
      if (this.of(caller.address) >= perAddress) return "address";
      if (this.#unverifiedTotal >= unverified) return "unverified";
    }
    return this.isExhausted() ? "gateway" : null;
  }

  isExhausted(): boolean {
    return this.taken >= this.#limits.total;
  }

  /** Adds to what a caller has, whether or not there is room; a negative amount is given back. */
  add(caller: Caller, amount: number): void {
    this.taken += amount;
    this.#change(caller, amount);
    if (caller.verification !== "verified") this.addToUnverified(caller, amount);
  }

  /** Counts what a stranger takes, or has when a caller becomes a stranger or is one no more, for its address as well. */
  addToUnverified(caller: Caller, amount: number): void {
    this.#unverifiedTotal += amount;
    if (caller.address !== caller) this.#change(caller.address, amount);
  }

  /** The accounts that have something. */
  billedCallers(): Caller[] {
    return [...this.#holders].filter((caller) => caller.billedTo === caller);
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
export class CallerRegistry {
  readonly #salt: string;
  readonly #verified = new LRUCache<string, Caller>(REMEMBERED_CALLERS);
  readonly #unverified = new LRUCache<string, Caller>(REMEMBERED_CALLERS);
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
    const caller = this.#verified.get(token) ?? this.#find(token, create);
    if (performance.now() > caller.verifiedUntil) caller.markUnverified();
    return caller;
  }

  perCaller<Part extends {}>(create: (caller: Caller) => Part): PerCaller<Part> {
    const index = this.#keeps++;
    return {
      of: (caller) => (caller.perCaller[index] ??= create(caller)) as Part,
      find: (caller) => caller.perCaller[index] as Part | undefined,
    };
  }

  quota(shares: QuotaLimits): Quota {
    const quota = new Quota(this.#quotas.length, shares);
    this.#quotas.push(quota);
    return quota;
  }

  /** Called when the standing of a caller with a token changes. What it has counts among that of strangers, or no more. */
  move(caller: Caller, verification: "verified" | "unverified"): void {
    caller.verification = verification;
    const sign = verification === "verified" ? -1 : 1;
    if (sign > 0) caller.revocations++;
    for (const quota of this.#quotas) quota.addToUnverified(caller, sign * quota.of(caller));
    const [from, to] =
      verification === "verified" ? [this.#unverified, this.#verified] : [this.#verified, this.#unverified];
    from.delete(String(caller.token));
    to.set(String(caller.token), caller);
  }

  /** Forgets those who have sent nothing for long and have nothing under way. */
  #forget(now: number): void {
    this.#forgotAt = now;
    for (const callers of [this.#verified, this.#unverified])
      for (const [key, { usedAt, counts }] of callers.entries())
        if (now > usedAt + REMEMBERED_MS && counts.every((count) => !count)) callers.delete(key);
  }

  #find(key: string, create: (key: string) => Caller): Caller {
    const known = this.#unverified.get(key);
    if (known) return known;
    const own = ownCopy(key);
    const caller = create(own);
    this.#unverified.set(own, caller);
    return caller;
  }
}
