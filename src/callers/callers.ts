import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ownCopy } from "../util/own-copy.ts";

/** `verified` for ten minutes after the upstream service has accepted the token; `anonymous` without a token; otherwise `unverified`. */
export type Verification = "verified" | "unverified" | "anonymous";

/** How long a token counts as accepted after the upstream service has last accepted it, in milliseconds. */
const VERIFIED_MS = 600_000;

/** How long a caller is remembered after its last request, in milliseconds. `FORGET_MS`: how often expired callers are removed. */
const CALLER_TTL_MS = 600_000;
const FORGET_MS = 60_000;

/** Maximum number of remembered callers, and maximum total length of their tokens, each of which may be 16 kB long. */
const REMEMBERED_CALLERS = {
  max: 10_000,
  maxSize: 16_000_000,
  sizeCalculation: (_: Caller, key: string) => key.length,
};

/** The bound is lower for unverified callers, because anyone can invent tokens. A caller takes up to 10 kB, which no quota counts. */
const REMEMBERED_UNVERIFIED = { ...REMEMBERED_CALLERS, max: 2_000 };

/** A token, or the address of a client without a token. A caller owns all of its per-caller state, which is forgotten with the caller. */
export class Caller {
  /** The token to forward; null for an anonymous caller. */
  readonly token: string | null;
  /** Identifies the caller: a salted hash of the token, or the address of an anonymous caller. Logs contain the beginning of the key. */
  readonly key: string;
  /** The anonymous caller at the same address; this caller itself if it is anonymous. */
  readonly addressCaller: Caller;
  /** Only `CallerRegistry.move` changes it. */
  verification: Verification;
  /** Usage of each quota, by the index of the quota. */
  readonly counts: number[] = [];
  /** Per-caller state of other modules, by slot: see `CallerRegistry.perCaller`. */
  readonly attachments: unknown[] = [];
  /** Time of its last request, by `performance.now()`. */
  usedAt = 0;
  /** How often the token has lost its verification. Each time, the upstream service may have assigned the token to another user. */
  revocations = 0;
  readonly #callers: CallerRegistry;
  /** The time until which the token counts as accepted, by `performance.now()`. */
  verifiedUntil = 0;

  /** Only `CallerRegistry` creates callers. */
  constructor(callers: CallerRegistry, token: string | null, key: string, addressCaller: Caller | null) {
    this.#callers = callers;
    this.token = token;
    this.key = key;
    this.addressCaller = addressCaller ?? this;
    this.verification = token === null ? "anonymous" : "unverified";
  }

  /** The caller whose limits apply: itself, or for an unverified caller the one at its address, because anyone can invent tokens. */
  get billedTo(): Caller {
    return this.verification === "unverified" ? this.addressCaller : this;
  }

  markVerified(): void {
    this.verifiedUntil = performance.now() + VERIFIED_MS;
    if (this.verification === "unverified") this.#callers.move(this, "verified");
  }

  markUnverified(): void {
    if (this.verification === "verified") this.#callers.move(this, "unverified");
  }
}

/** State that each caller has for one module. */
export interface PerCaller<State> {
  /** Returns the state of a caller, and creates it first if necessary. */
  readonly of: (caller: Caller) => State;
  /** Returns the state of a caller, or undefined if it was not created yet. */
  readonly find: (caller: Caller) => State | undefined;
}

/** The limit that is reached: of the caller, of unverified callers at its address, of all unverified callers, or of the gateway. */
export type ExceededLimit = "caller" | "address" | "unverified" | "gateway";

export interface QuotaLimits {
  readonly total: number;
  readonly perCaller: number;
  /** Limit of all unverified and anonymous callers at one address together. `unverified`: limit of all such callers together. */
  readonly perAddress?: number;
  readonly unverified?: number;
}

/** The limit of all unverified callers at one address together: the limit of one caller or a quarter of the total, whichever is higher. */
export const addressShare = (total: number, perCaller: number): number =>
  Math.max(perCaller, Math.ceil(total / 4));

/** The usage of a limited resource, such as operations, sockets or bytes, in total and by caller. */
export class Quota {
  taken = 0;
  readonly #index: number;
  readonly #limits: Required<QuotaLimits>;
  #unverifiedTotal = 0;
  readonly #activeCallers = new Set<Caller>();

  /** Only `CallerRegistry.quota` creates quotas. */
  constructor(index: number, { total, perCaller, perAddress, unverified }: QuotaLimits) {
    this.#index = index;
    this.#limits = {
      total,
      perCaller,
      perAddress: perAddress ?? addressShare(total, perCaller),
      unverified: unverified ?? Math.ceil(total / 2),
    };
  }

  /** The usage of a caller. The usage of an anonymous caller includes all unverified callers at its address. */
  of(caller: Caller): number {
    return caller.counts[this.#index] ?? 0;
  }

  /** The limit that one more unit would exceed; null if there is none. */
  exceededBy(caller: Caller): ExceededLimit | null {
    const { perCaller, perAddress, unverified } = this.#limits;
    const { verification } = caller;
    if (verification !== "anonymous" && this.of(caller) >= perCaller) return "caller";
    if (verification !== "verified") {
      if (this.of(caller.addressCaller) >= perAddress) return "address";
      if (this.#unverifiedTotal >= unverified) return "unverified";
    }
    return this.isExhausted() ? "gateway" : null;
  }

  isExhausted(): boolean {
    return this.taken >= this.#limits.total;
  }

  /** Adds to the usage of a caller without checking limits. A negative amount releases. */
  add(caller: Caller, amount: number): void {
    this.taken += amount;
    this.#change(caller, amount);
    if (caller.verification !== "verified") this.addToUnverified(caller, amount);
  }

  /** Counts usage towards the total of unverified callers, and towards the address of the caller. */
  addToUnverified(caller: Caller, amount: number): void {
    this.#unverifiedTotal += amount;
    if (caller.addressCaller !== caller) this.#change(caller.addressCaller, amount);
  }

  billedCallers(): Caller[] {
    return [...this.#activeCallers].filter((caller) => caller.billedTo === caller);
  }

  #change(caller: Caller, amount: number): void {
    const before = this.of(caller);
    const now = before + amount;
    caller.counts[this.#index] = now;
    if (now === 0) this.#activeCallers.delete(caller);
    else if (before === 0) this.#activeCallers.add(caller);
  }
}

/** The callers of one gateway, their per-caller state, and their quotas. */
export class CallerRegistry {
  readonly #salt: string;
  readonly #verified = new LRUCache<string, Caller>(REMEMBERED_CALLERS);
  readonly #unverified = new LRUCache<string, Caller>(REMEMBERED_UNVERIFIED);
  readonly #quotas: Quota[] = [];
  #nextSlot = 0;
  #forgotAt = 0;

  /** Processes with the same salt have the same keys for callers. With the default salt, keys mean nothing outside this process. */
  constructor(salt = randomBytes(16).toString("hex")) {
    this.#salt = salt;
  }

  /** Returns the caller with this token, or the anonymous caller at this address. */
  of(token: string | null, address: string): Caller {
    // The key begins with a line break, which no token contains, so that it never equals a token.
    const at = this.#find(`\n${address}`, (key) => new Caller(this, null, `at ${key.slice(1)}`, null));
    const caller = token === null ? at : this.withToken(token, at);
    const now = performance.now();
    at.usedAt = now;
    caller.usedAt = now;
    if (now > this.#forgotAt + FORGET_MS) this.#forget(now);
    return caller;
  }

  /** Returns the caller with a token. While the caller is unverified, it is billed to the address of its first request. */
  withToken(token: string, at: Caller): Caller {
    const create = (own: string) =>
      new Caller(this, own, hash("sha256", `${this.#salt} ${own}`, "base64url"), at);
    const caller = this.#verified.get(token) ?? this.#find(token, create);
    if (performance.now() > caller.verifiedUntil) caller.markUnverified();
    return caller;
  }

  /** Adds state to every caller. `create` is called when the state of a caller is first used. */
  perCaller<State extends {}>(create: (caller: Caller) => State): PerCaller<State> {
    const index = this.#nextSlot++;
    return {
      of: (caller) => (caller.attachments[index] ??= create(caller)) as State,
      find: (caller) => caller.attachments[index] as State | undefined,
    };
  }

  quota(shares: QuotaLimits): Quota {
    const quota = new Quota(this.#quotas.length, shares);
    this.#quotas.push(quota);
    return quota;
  }

  /** Changes the verification of a caller with a token, and updates the usage of unverified callers in all quotas. */
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

  /** Forgets idle callers without usage of any quota. */
  #forget(now: number): void {
    this.#forgotAt = now;
    for (const callers of [this.#verified, this.#unverified])
      for (const [key, { usedAt, counts }] of callers.entries())
        if (now > usedAt + CALLER_TTL_MS && counts.every((count) => !count)) callers.delete(key);
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
