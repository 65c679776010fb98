import type { Context } from "@opentelemetry/api";
import type { Caller } from "./callers.ts";

export interface Identity {
  readonly caller: Caller;
  readonly requestId: string;
  /** The caller's headers `traceparent` and, if any, `tracestate`; null when the first is missing or invalid. */
  readonly trace: Readonly<Record<string, string>> | null;
  /** The context of the request's span and baggage; null unless the request is traced here. */
  readonly telemetryContext?: Context | null;
}

/** One of the places that callers have at a time. */
interface HeldPermit {
  readonly kind: string;
  release(): void;
  /** Whoever needs it more may take it, and ends what holds it. */
  markPreemptible(end: () => void): void;
  markBusy(): void;
  /** While nothing is done for who holds it, others may have it. */
  pause(): void;
  resume(): void;
}

/** Why a scope has ended: the caller disconnected, the deadline passed, others took its place, or the request is complete. */
export type EndReason = "disconnected" | "deadline" | "preempted" | "completed";

/**
 * The lifetime of one request: its caller, its deadline, and callbacks for its end. Own code: an `AbortSignal` for each
 * upstream request costs more than the request itself.
 */
export class RequestScope implements Identity {
  /** The caller's token; null without one. */
  readonly token: string | null;
  readonly caller: Caller;
  readonly requestId: string;
  readonly trace: Identity["trace"];
  /** Kept here, because upstream requests begin in the asynchronous context of whoever frees their connection. */
  telemetryContext: Context | null;
  /** When it began, by `performance.now()`. */
  readonly began = performance.now();
  /** Deadline in milliseconds since 1970; infinite for what lasts. */
  deadline = Number.POSITIVE_INFINITY;
  /** Number of upstream requests that were sent for it. */
  upstreamRequests = 0;
  /** Why the scope has ended; null while it is open. Only the scope changes it. */
  ended: EndReason | null = null;
  readonly #callbacks = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #permit: HeldPermit | null = null;
  /** What it waits for before anything is done for it. */
  #pauses = 0;

  /** Opens a scope that ends after `timeoutMs`, which may be infinite. */
  constructor({ caller, requestId, trace, telemetryContext = null }: Identity, timeoutMs: number) {
    this.token = caller.token;
    this.caller = caller;
    this.requestId = requestId;
    this.trace = trace;
    this.telemetryContext = telemetryContext;
    this.setTimeout(timeoutMs);
  }

  /** Makes it end after `timeoutMs` from now, which may be infinite, instead of at its present deadline. */
  setTimeout(timeoutMs: number): void {
    if (this.ended) return;
    clearTimeout(this.#timer);
    const isBounded = Number.isFinite(timeoutMs);
    this.deadline = isBounded ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
    this.#timer = isBounded ? setTimeout(() => this.end("deadline"), timeoutMs) : undefined;
  }

  /** The kind of the place that it holds; null when it holds none. */
  get permitKind(): string | null {
    return this.#permit && this.#permit.kind;
  }

  /** Holds a place until the scope ends, instead of the one that it holds. */
  holdPermit(permit: HeldPermit): void {
    this.#permit?.release();
    this.#permit = permit;
    if (this.ended) permit.release();
    else permit.markPreemptible(() => this.end("preempted"));
  }

  /** From now on nobody takes its place. */
  pinPermit(): void {
    this.#permit?.markBusy();
  }

  /** Passes its place on to another scope. */
  transferPermit(to: RequestScope): void {
    if (this.#permit) to.holdPermit(this.#permit);
    this.#permit = null;
  }

  /** Others may have its place until it has resumed as often as it has paused. */
  pause(): void {
    if (++this.#pauses === 1) this.#permit?.pause();
  }

  resume(): void {
    if (--this.#pauses === 0) this.#permit?.resume();
  }

  /** Calls back once when the scope ends, immediately if it has ended. */
  onEnd(callback: () => void): void {
    if (this.ended) callback();
    else this.#callbacks.add(callback);
  }

  offEnd(callback: () => void): void {
    this.#callbacks.delete(callback);
  }

  end(reason: EndReason): void {
    if (this.ended) return;
    this.ended = reason;
    clearTimeout(this.#timer);
    for (const callback of this.#callbacks) callback();
    this.#callbacks.clear();
    this.#permit?.release();
  }
}
