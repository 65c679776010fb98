import type { Context } from "@opentelemetry/api";
import type { Caller } from "./callers.ts";

export interface Identity {
  readonly caller: Caller;
  readonly requestId: string;
  /** The caller's headers `traceparent` and, if present, `tracestate`; null if `traceparent` is missing or invalid. */
  readonly trace: Readonly<Record<string, string>> | null;
  /** The context with the span and the baggage of the request; null unless the gateway traces the request. */
  readonly telemetryContext?: Context | null;
}

/** A permit of a concurrency limit. */
interface HeldPermit {
  readonly kind: string;
  release(): void;
  /** Allows preemption, which calls `end`. */
  allowPreemption(reason: "unverified", end: () => void): void;
  forbidPreemption(): void;
  /** Lets other callers use the permit while its holder waits for a rate limit. */
  pause(): void;
  resume(): void;
}

/** Why a scope has ended: the caller disconnected, the deadline passed, the permit was preempted, or the request is complete. */
export type EndReason = "disconnected" | "deadline" | "preempted" | "completed";

/** A request's caller, deadline and callbacks for its end. An `AbortSignal` per upstream request would cost more than the request. */
export class RequestScope implements Identity {
  /** The caller's token; null without one. */
  readonly token: string | null;
  readonly caller: Caller;
  readonly requestId: string;
  readonly trace: Identity["trace"];
  /** Stored here, because an upstream request may start in the asynchronous context of another request, whose end has admitted it. */
  telemetryContext: Context | null;
  /** When the scope began, by `performance.now()`. */
  readonly began = performance.now();
  /** Deadline in milliseconds since 1970; infinite for streams. */
  deadline = Number.POSITIVE_INFINITY;
  /** Number of upstream requests that were sent for this scope. */
  upstreamRequests = 0;
  /** Why the scope has ended; null while it is open. Only the scope changes it. */
  ended: EndReason | null = null;
  readonly #callbacks = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #permit: HeldPermit | null = null;
  /** Number of unfinished waits for a rate limit. */
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

  /** Replaces the deadline: `timeoutMs` from now, which may be infinite. */
  setTimeout(timeoutMs: number): void {
    if (this.ended) return;
    clearTimeout(this.#timer);
    const isBounded = Number.isFinite(timeoutMs);
    this.deadline = isBounded ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
    this.#timer = isBounded ? setTimeout(() => this.end("deadline"), timeoutMs) : undefined;
  }

  /** The kind of the held permit; null without one. */
  get permitKind(): string | null {
    return this.#permit && this.#permit.kind;
  }

  /** Gives the scope a permit, which is released when the scope ends. Releases the previous permit. */
  holdPermit(permit: HeldPermit): void {
    this.#permit?.release();
    this.#permit = permit;
    if (this.ended) permit.release();
    else permit.allowPreemption("unverified", () => this.end("preempted"));
  }

  /** Protects the held permit from preemption. */
  forbidPreemption(): void {
    this.#permit?.forbidPreemption();
  }

  transferPermit(to: RequestScope): void {
    if (this.#permit) to.holdPermit(this.#permit);
    this.#permit = null;
  }

  /** Lets other callers use the held permit until `resume` has been called as often as `pause`. */
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
