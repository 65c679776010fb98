import type { ResponsePath } from "./engine/field-extensions.ts";

/**
 * Where the response of a read comes from: a request of its own, a list that was requested for several, a request of another
 * operation of the token, a response that was kept, or one that was kept for longer, because the service gives none.
 */
export type Served = "request" | "batch" | "joined" | "cache" | "stale";

/** Something that happened to a read or command. The order of events is their meaning. */
type What =
  /** A command, sent for a place. */
  | { readonly kind: "command"; readonly place: ResponsePath | null }
  /**
   * `open`: a read waits for its response, although an earlier one may have settled: a list item that lacked a key. `wait`: it
   * waits for its turn. `settled`: what it caused may be requested.
   */
  | { readonly kind: "open" | "wait" | "settled" }
  /** A place loads it. `isAhead`: it probably will. */
  | { readonly kind: "load"; readonly place: ResponsePath; readonly isAhead: boolean }
  /** Something else than its own request answers it. `list` contains it. */
  | { readonly kind: "served"; readonly by: Served; readonly list: TraceEntry | null }
  /** An earlier response of that age answers, in milliseconds. */
  | { readonly kind: "stale"; readonly ageMs: number }
  /** A request was sent. `path` is a template. */
  | { readonly kind: "sent"; readonly method: string; readonly path: string }
  /** That request has ended: its HTTP status (null without a response), the code of its error, and the bytes of its body. */
  | {
      readonly kind: "end";
      readonly status: number | null;
      readonly error: string | null;
      readonly bytes: number;
    }
  /** A link of a place cost no request. */
  | { readonly kind: "free"; readonly place: ResponsePath }
  /** Rows were compared for a place, because the service cannot filter by these arguments. */
  | {
      readonly kind: "scan";
      readonly place: ResponsePath;
      readonly compared: readonly string[];
      readonly rows: number;
    };

/** What happened in one operation whose result shows how it came about. */
export class OperationTrace {
  /** `note` is null for what concerns no read; `at` is by `performance.now()`. */
  readonly events: { readonly traceEntry: TraceEntry | null; readonly at: number; readonly what: What }[] =
    [];
  /** The place whose resolver is running. */
  current: { readonly place: ResponsePath; readonly isAhead: boolean } | null = null;

  add(traceEntry: TraceEntry | null, what: What): void {
    this.events.push({ traceEntry, at: performance.now(), what });
  }

  /** Returns a function that acts for a place: what is loaded meanwhile is loaded for it. */
  forPath(place: ResponsePath) {
    return <Value>(act: () => Value, isAhead = false): Value => {
      this.current = { place, isAhead };
      try {
        return act();
      } finally {
        this.current = null;
      }
    };
  }

  openCommand(): TraceEntry {
    const traceEntry = new TraceEntry(this);
    traceEntry.add({ kind: "command", place: this.current && this.current.place });
    traceEntry.load();
    traceEntry.add({ kind: "wait" });
    return traceEntry;
  }
}

/** What events are about: a response of the service, whichever reads load it, or a command. */
export class TraceEntry {
  readonly #trace: OperationTrace;

  constructor(operationTrace: OperationTrace) {
    this.#trace = operationTrace;
  }

  add(what: What): void {
    this.#trace.add(this, what);
  }

  /** Enters that a read waits for the response, and when that settles. */
  await(response: Promise<unknown>): void {
    this.add({ kind: "open" });
    const settle = (): void => this.add({ kind: "settled" });
    response.then(settle, settle);
  }

  /** Enters that the place whose resolver is running loads it. */
  load(): void {
    const { current } = this.#trace;
    if (current) this.add({ kind: "load", ...current });
  }
}
