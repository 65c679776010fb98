import type { Caller, CallerRegistry, ExceededLimit, Quota, QuotaLimits } from "../callers/callers.ts";
import type { Config } from "../config.ts";
import { OVERLOADED, GatewayError } from "../errors.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

const OPERATIONS = "operations under way";

/** Creates the ways in. `turnAway`: returns true where the queue of upstream requests has no room for an operation of the caller, and counts it. */
export function createAdmission(
  config: Config,
  callers: CallerRegistry,
  shedLoad: (caller: Caller) => boolean,
) {
  const { MAX_OPERATIONS: all, MAX_UNVERIFIED_MUTATIONS: mutations } = config;
  // Strangers may have all that others do not need, since they give way.
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
  let isDraining = false;
  const whileOpen = () =>
    isDraining ? new GatewayError("SERVICE_OVERLOADED", "The gateway shuts down; connect again.") : null;
  const limitOn = (kind: string, shares: QuotaLimits, closedFor: ClosedReason = () => null) =>
    new ConcurrencyLimit(kind, callers.quota(shares), closedFor);
  return {
    operation: limitOn(OPERATIONS, operations, (caller, paused) =>
      // Those that wait for their pace hold no places, but memory.
      paused >= 4 * all || shedLoad(caller) ? overloaded() : null,
    ),
    stream: limitOn("subscriptions", streams, whileOpen),
    socket: limitOn("WebSockets", streams, whileOpen),
    download: limitOn("downloads under way", downloads),
    // Of callers that are not proven.
    mutation: limitOn("mutations under way", unverifiedMutations),
    /** Stops admitting what lasts until somebody ends it. */
    drain: (): void => {
      isDraining = true;
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;

/** Why nobody, or not this caller, gets a place, whatever is free; null when that counts. */
type ClosedReason = (caller: Caller, paused: number) => GatewayError | null;

/** Admits callers to the limited places of a kind: by POST, GET, event stream, WebSocket, download and `/mcp` alike. */
class ConcurrencyLimit {
  /** What messages call its places. */
  readonly kind: string;
  readonly quota: Quota;
  /** Those that others have meanwhile. */
  paused = 0;
  /** Those that newcomers may take, the longest idle first. */
  readonly idle = new LinkedList<Permit>();
  /** Those that their strangers have while nobody with a better right to them comes, the oldest first. */
  readonly preemptible = new LinkedList<Permit>();
  readonly #closedFor: ClosedReason;

  constructor(kind: string, quota: Quota, closedFor: ClosedReason) {
    this.kind = kind;
    this.quota = quota;
    this.#closedFor = closedFor;
  }

  get taken(): number {
    return this.quota.taken + this.paused;
  }

  /** Takes a place that is free or gives way. Returns an error if there is none. */
  tryAcquire(caller: Caller): Permit | GatewayError {
    const closed = this.#closedFor(caller, this.paused);
    if (closed) return closed;
    for (;;) {
      const exceeded = this.quota.exceededBy(caller);
      if (!exceeded) return new Permit(this, caller);
      const other = this.#preemptibleFor(exceeded, caller);
      if (!other) return errorOf(exceeded, this.kind);
      other.preempt();
    }
  }

  /** Takes a place for a scope, which releases its place of another kind. Throws `Failure` if there is none. */
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

  /** The place that gives way among those that are all taken. */
  #preemptibleFor(exceeded: ExceededLimit, caller: Caller): Permit | null {
    const idle = this.idle.members().find((permit) => IS_AMONG[exceeded](permit.caller, caller));
    return idle ?? (exceeded === "unverified" || exceeded === "gateway" ? this.#unverifiedFor(caller) : null);
  }

  /** One of the address with most, for a caller who is proven or at an address that will not have more. */
  #unverifiedFor(caller: Caller): Permit | null {
    const ofAddress = (permit: Permit) => this.quota.of(permit.caller.address);
    const areAllTaken = this.quota.isExhausted();
    let most: Permit | null = null;
    for (const permit of this.preemptible.members())
      if (permit.isPreemptible(areAllTaken) && (!most || ofAddress(permit) > ofAddress(most))) most = permit;
    const hasRight =
      caller.verification === "verified" || (most && ofAddress(most) > this.quota.of(caller.address) + 1);
    return hasRight ? most : null;
  }
}

export class Permit {
  readonly kind: string;
  readonly caller: Caller;
  readonly #limit: ConcurrencyLimit;
  /** The list of those that give way in which it is, and what ends what holds it. */
  #preemption: {
    readonly list: LinkedList<Permit>;
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

  /** Gives the place back. Further calls do nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.markBusy();
    if (this.#isPaused) this.#limit.pause(-1);
    this.#limit.quota.add(this.caller, -1);
  }

  /** Leaves it to other callers for a while; it goes on counting for its own. */
  pause(): void {
    this.#isPaused = true;
    this.#limit.pause(1);
  }

  /** Has it again, whether or not there is room. */
  resume(): void {
    if (this.#isReleased) return;
    this.#isPaused = false;
    this.#limit.pause(-1);
  }

  /** Marks the place as idle: newcomers may take it. `end` then ends what holds it. */
  markIdle(end: () => void): void {
    this.#allowPreemption(this.#limit.idle, end);
  }

  /** An operation of a stranger goes on until others need its place. `end` then ends it. */
  markPreemptible(end: () => void): void {
    if (this.kind === OPERATIONS && this.caller.verification !== "verified")
      this.#allowPreemption(this.#limit.preemptible, end);
  }

  /** Whether it gives way: its caller is still a stranger. Paused it counts among strangers, but not among all places. */
  isPreemptible(areAllTaken: boolean): boolean {
    return this.caller.verification !== "verified" && !(this.#isPaused && areAllTaken);
  }

  markBusy(): void {
    this.#preemption?.list.remove(this.#preemption.link);
    this.#preemption = null;
  }

  /** Gives the place back and ends what holds it. */
  preempt(): void {
    const offer = this.#preemption;
    this.release();
    offer?.end();
  }

  #allowPreemption(list: LinkedList<Permit>, end: () => void): void {
    if (!this.#isReleased && !this.#preemption) this.#preemption = { list, link: list.add(this), end };
  }
}

/** Whether the place of another counts among those that are all taken for a caller. */
const IS_AMONG: Readonly<Record<ExceededLimit, (other: Caller, caller: Caller) => boolean>> = {
  caller: (other, caller) => other === caller,
  address: (other, caller) => other.verification !== "verified" && other.address === caller.address,
  unverified: (other) => other.verification !== "verified",
  gateway: () => true,
};

const RETRY = { retryAfterSeconds: 1 };

const overloaded = () => new GatewayError("SERVICE_OVERLOADED", OVERLOADED);

function errorOf(exceeded: ExceededLimit, kind: string): GatewayError {
  if (exceeded === "caller")
    return new GatewayError("RATE_LIMITED", `This caller has as many ${kind} as one may have.`, RETRY);
  if (exceeded === "address")
    return new GatewayError(
      "RATE_LIMITED",
      `Callers at this address whose tokens the service has not accepted yet have as many ${kind} as they may have.`,
      RETRY,
    );
  return kind === OPERATIONS
    ? overloaded()
    : new GatewayError("SERVICE_OVERLOADED", `The gateway has as many ${kind} as it may have.`);
}
