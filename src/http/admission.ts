import type { Caller, CallerRegistry, ExceededLimit, Quota, QuotaLimits } from "../callers/callers.ts";
import type { Config } from "../config.ts";
import type { Client } from "../rest/client/client.ts";
import { OVERLOADED, GatewayError } from "../errors.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

const OPERATION_KIND = "operations under way";

/**
 * Creates the admission limits. `shedLoad` returns true, and counts the rejection, when the upstream queue has no room for another operation
 * of this caller.
 */
export function createAdmission(config: Config, callers: CallerRegistry, shedLoad: Client["shedLoad"]) {
  const { MAX_OPERATIONS: all, MAX_UNVERIFIED_MUTATIONS: mutations } = config;
  // Unverified callers may use all permits that others do not need, because the permits of unverified callers can be preempted.
  const operations = {
    total: all,
    perCaller: config.MAX_OPERATIONS_PER_TOKEN,
    perAddress: all,
    unverified: all,
  };
  const streams = { total: config.MAX_SUBSCRIPTIONS, perCaller: config.MAX_SUBSCRIPTIONS_PER_TOKEN };
  const downloads = { total: config.MAX_DOWNLOADS, perCaller: config.MAX_DOWNLOADS_PER_TOKEN };
  const half = Math.ceil(mutations / 2);
  const unverifiedMutations = { total: mutations, perCaller: half, perAddress: half, unverified: mutations };
  const limitOn = (kind: string, shares: QuotaLimits, check: AdmissionCheck = () => null) =>
    new ConcurrencyLimit(kind, callers.quota(shares), check);
  return {
    operation: limitOn(OPERATION_KIND, operations, (caller, paused) =>
      // An operation that waits for a rate limit lends its permit to others but still uses memory, so the number of these operations is
      // limited too.
      paused >= 4 * all || shedLoad(caller) ? overloaded() : null,
    ),
    stream: limitOn("subscriptions", streams),
    socket: limitOn("WebSockets", streams),
    download: limitOn("downloads under way", downloads),
    // This limit applies only to mutations of unverified and anonymous callers.
    mutation: limitOn("mutations under way", unverifiedMutations),
  };
}

export type Admission = ReturnType<typeof createAdmission>;

/** Returns an error if a caller must be rejected even though permits are free; otherwise null. `paused` is the number of paused permits. */
type AdmissionCheck = (caller: Caller, paused: number) => GatewayError | null;

/** Limits how many operations, streams, sockets or downloads run at a time. */
class ConcurrencyLimit {
  /** The plural name of the limited items, for messages. */
  readonly kind: string;
  readonly quota: Quota;
  /** Number of paused permits. Other callers may use them until they are resumed. */
  paused = 0;
  /** Permits that may be revoked for a new caller, longest preemptible first. */
  readonly preemptible = new LinkedList<Permit>();
  readonly #check: AdmissionCheck;

  constructor(kind: string, quota: Quota, check: AdmissionCheck) {
    this.kind = kind;
    this.quota = quota;
    this.#check = check;
  }

  get taken(): number {
    return this.quota.taken + this.paused;
  }

  /** Takes a free or preemptible permit. Returns an error if there is no such permit. */
  tryAcquire(caller: Caller): Permit | GatewayError {
    const reason = this.#check(caller, this.paused);
    if (reason) return reason;
    for (;;) {
      const exceeded = this.quota.exceededBy(caller);
      if (!exceeded) return new Permit(this, caller);
      const other = this.#preemptibleFor(exceeded, caller);
      if (!other) return errorOf(exceeded, this.kind);
      other.preempt();
    }
  }

  /** Acquires a permit for a scope, and releases the scope's permit of another kind. Throws `GatewayError` if no permit is available. */
  acquire(scope: RequestScope): void {
    if (scope.permitKind === this.kind) return;
    const permit = this.tryAcquire(scope.caller);
    if (permit instanceof GatewayError) throw permit;
    scope.holdPermit(permit);
  }

  pause(change: 1 | -1): void {
    this.paused += change;
    this.quota.taken -= change;
  }

  /** The permit to preempt when a limit is reached; null if no permit can be preempted. */
  #preemptibleFor(exceeded: ExceededLimit, caller: Caller): Permit | null {
    const isPreemptible = (permit: Permit) => permit.isIdle && IS_AMONG[exceeded](permit.caller, caller);
    const idle = this.preemptible.members().filter(isPreemptible);
    const isOfAll = exceeded === "unverified" || exceeded === "gateway";
    const unverified =
      idle.find((permit) => permit.caller.verification !== "verified") ??
      (isOfAll ? this.#unverifiedFor(caller) : null);
    return unverified ?? idle[0] ?? null;
  }

  /**
   * A permit of an unverified caller at the address with the most permits. Null if the new caller is unverified, and its own address would
   * then have no fewer permits than that address.
   */
  #unverifiedFor(caller: Caller): Permit | null {
    const ofAddress = (permit: Permit) => this.quota.of(permit.caller.addressCaller);
    const areAllTaken = this.quota.isExhausted();
    let most: Permit | null = null;
    for (const permit of this.preemptible.members())
      if (permit.isPreemptible(areAllTaken) && (!most || ofAddress(permit) > ofAddress(most))) most = permit;
    const hasRight =
      caller.verification === "verified" ||
      (most && ofAddress(most) > this.quota.of(caller.addressCaller) + 1);
    return hasRight ? most : null;
  }
}

/**
 * `idle`: any new caller may preempt the permit. `unverified`: verified callers, and callers at an address with fewer permits, may preempt
 * it.
 */
type PreemptionReason = "idle" | "unverified";

export class Permit {
  readonly kind: string;
  readonly caller: Caller;
  readonly #limit: ConcurrencyLimit;
  /**
   * The reason for which the permit may be preempted, its link in `preemptible`, and the callback that ends its holder. Null while the
   * permit may not be preempted.
   */
  #preemption: {
    readonly reason: PreemptionReason;
    readonly link: Link<Permit>;
    readonly end: () => void;
  } | null = null;
  #isReleased = false;
  #isPaused = false;

  constructor(limit: ConcurrencyLimit, caller: Caller) {
    this.kind = limit.kind;
    this.caller = caller;
    this.#limit = limit;
    limit.quota.add(caller, 1);
  }

  /** Releases the permit. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.forbidPreemption();
    if (this.#isPaused) this.#limit.pause(-1);
    this.#limit.quota.add(this.caller, -1);
  }

  /** Lends the permit to other callers. The permit still counts for its own caller. */
  pause(): void {
    this.#isPaused = true;
    this.#limit.pause(1);
  }

  /** Takes the permit back, even above the limit. */
  resume(): void {
    if (this.#isReleased) return;
    this.#isPaused = false;
    this.#limit.pause(-1);
  }

  /** Allows preemption, which calls `end`. With the reason `unverified`, only operations of unverified callers can be preempted. */
  allowPreemption(reason: PreemptionReason, end: () => void): void {
    const isUnverifiedOperation = this.kind === OPERATION_KIND && this.caller.verification !== "verified";
    if (this.#isReleased || this.#preemption || (reason === "unverified" && !isUnverifiedOperation)) return;
    this.#preemption = { reason, link: this.#limit.preemptible.add(this), end };
  }

  forbidPreemption(): void {
    if (this.#preemption) this.#limit.preemptible.remove(this.#preemption.link);
    this.#preemption = null;
  }

  get isIdle(): boolean {
    return this.#preemption?.reason === "idle";
  }

  /** Whether the caller is still unverified, and preemption would free a permit: a paused permit frees none if all permits are taken. */
  isPreemptible(areAllTaken: boolean): boolean {
    return this.caller.verification !== "verified" && !(this.#isPaused && areAllTaken);
  }

  /** Releases the permit and ends what held it: an operation, a WebSocket, or a request whose body is still arriving. */
  preempt(): void {
    const preemption = this.#preemption;
    this.release();
    preemption?.end();
  }
}

/** Whether the permit of another caller counts towards the limit that a caller has reached. */
const IS_AMONG: Readonly<Record<ExceededLimit, (other: Caller, caller: Caller) => boolean>> = {
  caller: (other, caller) => other === caller,
  address: (other, caller) =>
    other.verification !== "verified" && other.addressCaller === caller.addressCaller,
  unverified: (other) => other.verification !== "verified",
  // A caller without an accepted token cannot take the permit of a verified caller.
  gateway: (other, caller) => other.verification !== "verified" || caller.verification === "verified",
};

const RETRY = { retryAfterSeconds: 1 };

const overloaded = () => new GatewayError("SERVICE_OVERLOADED", OVERLOADED);

function errorOf(exceeded: ExceededLimit, kind: string): GatewayError {
  if (exceeded === "caller")
    return new GatewayError("RATE_LIMITED", `This caller has reached the maximum number of ${kind}.`, RETRY);
  if (exceeded === "address")
    return new GatewayError(
      "RATE_LIMITED",
      `Callers at this address without a verified token have reached the maximum number of ${kind}.`,
      RETRY,
    );
  return kind === OPERATION_KIND
    ? overloaded()
    : new GatewayError("SERVICE_OVERLOADED", `The gateway has reached the maximum number of ${kind}.`);
}
