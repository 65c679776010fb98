import type { Context } from "@opentelemetry/api";
import type { Caller } from "./caller.ts";

export interface Identity {
  readonly caller: Caller;
  readonly requestId: string;
  /** The caller's headers `traceparent` and, if any, `tracestate`; null when the first is missing or invalid. */
  readonly trace: Readonly<Record<string, string>> | null;
  /** The context of the request's span and baggage; null unless the request is traced here. */
  readonly telemetryContext?: Context | null;
}

/** One of the places that callers have at a time. */
interface HeldPlace {
  readonly kind: string;
  release(): void;
  /** Whoever needs it more may take it, and ends what holds it. */
  lend(end: () => void): void;
  markUsed(): void;
  /** While nothing is done for who holds it, others may have it. */
  pause(): void;
  resume(): void;
}

/** Why a scope has ended: the caller disconnected, the deadline passed, others took its place, or the request is complete. */
export type EndReason = "left" | "deadline" | "displaced" | "done";

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
  #place: HeldPlace | null = null;
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
  get placeKind(): string | null {
    return this.#place && this.#place.kind;
  }

  /** Holds a place until the scope ends, instead of the one that it holds. */
  hold(place: HeldPlace): void {
    this.#place?.release();
    this.#place = place;
    if (this.ended) place.release();
    else place.lend(() => this.end("displaced"));
  }

  /** From now on nobody takes its place. */
  keepPlace(): void {
    this.#place?.markUsed();
  }

  /** Passes its place on to another scope. */
  passOn(to: RequestScope): void {
    if (this.#place) to.hold(this.#place);
    this.#place = null;
  }

  /** Others may have its place until it has resumed as often as it has paused. */
  pause(): void {
    if (++this.#pauses === 1) this.#place?.pause();
  }

  resume(): void {
    if (--this.#pauses === 0) this.#place?.resume();
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
    this.#place?.release();
  }
}
