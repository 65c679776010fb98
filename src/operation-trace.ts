import type { ResponsePath } from "./engine/field-extensions.ts";

/**
 * The source of a read's response: its own request, a batch, a request of another operation with the same token, the cache, or a stale
 * response instead of an error (stale-if-error, RFC 5861).
 */
export type Served = "request" | "batch" | "joined" | "cache" | "stale";

/** The cause of a wait: the rate limit, the concurrency limits, or the probe of the circuit breaker. */
export type WaitReason = "RATE_LIMIT" | "CONCURRENCY" | "CIRCUIT";

/** An event of a read or command. The order of events matters. */
type What =
  /** A command was sent for a response path. */
  | { readonly kind: "command"; readonly path: ResponsePath | null }
  /**
   * `open`: a read waits for its response. A read whose response lacked a key opens again, for a second response. `wait`: the read is
   * queued. `settled`: the response has arrived, so dependent reads may follow.
   */
  | { readonly kind: "open" | "wait" | "settled" }
  /** A response path needs the response. `isAhead`: the response is prefetched. */
  | { readonly kind: "load"; readonly path: ResponsePath; readonly isAhead: boolean }
  /** The request was admitted. `waitedFor` is null if the request did not have to wait. */
  | { readonly kind: "admitted"; readonly waitedFor: WaitReason | null }
  /** The read was answered without a request of its own. `list` is the response of the batch, if any. */
  | { readonly kind: "served"; readonly by: Served; readonly list: TraceEntry | null }
  /** The read was answered by a stale response of this age, in milliseconds. */
  | { readonly kind: "stale"; readonly ageMs: number }
  /** A request was sent. `path` is a template. */
  | { readonly kind: "sent"; readonly method: string; readonly path: string }
  /** The request has ended: HTTP status (null without a response), error code, and bytes of the body. */
  | {
      readonly kind: "end";
      readonly status: number | null;
      readonly error: string | null;
      readonly bytes: number;
    }
  /** Rows were compared by the gateway, because the upstream service cannot filter by these arguments. */
  | {
      readonly kind: "scan";
      readonly path: ResponsePath;
      readonly compared: readonly string[];
      readonly rows: number;
    };

/** Memory of an event, and of a reference without a request, in the unit of the memory budget. */
const EVENT_BYTES = 110;
const FREE_BYTES = 20;
/** Number of charged bytes after which the memory of the trace is charged again. */
const TRACE_BYTES_PER_CHARGE = 16_384;

/** The trace of one operation, for `extensions` of its result. */
export class OperationTrace {
  /** Whether the result reports all of its requests. Otherwise it only reports stale responses. */
  readonly isExplained: boolean;
  /** `traceEntry` is null for events without a read; `at` is by `performance.now()`. */
  readonly events: { readonly traceEntry: TraceEntry | null; readonly at: number; readonly what: What }[] =
    [];
  /** References that needed no request: the keys of their response paths, by the path above. A result may have a hundred thousand. */
  readonly free = new Map<ResponsePath, Set<string | number>>();
  /** Charges the memory of the trace to the operation; absent until the operation is executed. */
  chargeMemory: ((bytes: number) => void) | null = null;
  #uncharged = 0;
  /** The response path whose resolver is running. */
  current: { readonly path: ResponsePath; readonly isAhead: boolean } | null = null;

  constructor(isExplained: boolean) {
    this.isExplained = isExplained;
  }

  add(traceEntry: TraceEntry | null, what: What): void {
    this.events.push({ traceEntry, at: performance.now(), what });
    this.#count(EVENT_BYTES);
  }

  addFree({ parent, at }: ResponsePath): void {
    if (!parent) return;
    const keys = this.free.get(parent);
    if (keys) keys.add(at);
    else this.free.set(parent, new Set([at]));
    this.#count(keys ? FREE_BYTES : EVENT_BYTES);
  }

  #count(bytes: number): void {
    this.#uncharged += bytes;
    if (this.#uncharged < TRACE_BYTES_PER_CHARGE) return;
    this.chargeMemory?.(this.#uncharged);
    this.#uncharged = 0;
  }

  /** Whether the operation has sent a request, or would have in a dry run. */
  hasRequests(): boolean {
    return this.events.some(({ what }) => what.kind === "sent");
  }

  /** Returns a function that runs `act` for a response path. Reads that `act` starts are attributed to that path. */
  forPath(path: ResponsePath) {
    return <Value>(act: () => Value, isAhead = false): Value => {
      this.current = { path, isAhead };
      try {
        return act();
      } finally {
        this.current = null;
      }
    };
  }

  openCommand(): TraceEntry {
    const traceEntry = new TraceEntry(this);
    traceEntry.add({ kind: "command", path: this.current && this.current.path });
    traceEntry.load();
    traceEntry.add({ kind: "wait" });
    return traceEntry;
  }
}

/** The subject of events: a command, or an upstream response with all reads that share it. */
export class TraceEntry {
  readonly #trace: OperationTrace;

  constructor(operationTrace: OperationTrace) {
    this.#trace = operationTrace;
  }

  add(what: What): void {
    this.#trace.add(this, what);
  }

  /** Records that a read waits for the response, and when the response settles. */
  await(response: Promise<unknown>): void {
    this.add({ kind: "open" });
    const settle = (): void => this.add({ kind: "settled" });
    response.then(settle, settle);
  }

  /** Records that the current response path needs the response. */
  load(): void {
    const { current } = this.#trace;
    if (current) this.add({ kind: "load", ...current });
  }
}
