import type { EndpointName } from "../../rest/api/endpoint.ts";
import type { AttemptNote } from "../../rest/client/request.ts";
import type { ReadNote, Served } from "../../rest/session/reads.ts";

/** A place of the result, one object for all that is loaded there: names of all places would take too much memory. */
export class Place {
  /** Null at the root. */
  readonly parent: Place | null;
  readonly at: string | number;
  readonly below = new Map<string | number, Place>();
  /** What is loaded for it. */
  readonly notes: Note[] = [];

  constructor(parent: Place | null, at: string | number) {
    this.parent = parent;
    this.at = at;
  }

  path(): (string | number)[] {
    return this.parent ? [...this.parent.path(), this.at] : [];
  }
}

/** One upstream request. Times are in milliseconds since the operation began. */
export interface ExplainedRequest extends NamedPlaces {
  readonly method: string;
  /** Template of the path, never the filled path. */
  readonly template: string;
  /** From 2 on it is a retry. */
  readonly attempt: number;
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Error code; null on success. */
  readonly error: string | null;
  /** One more than the number of requests, one after the other, that led to it. */
  readonly round: number;
  readonly startMs: number;
  /** How long it waited before: for the allowance of the token, a connection, or the pause before a retry. */
  readonly waitedMs: number;
  /** Null when the operation was complete before the response. */
  readonly durationMs: number | null;
  /** Bytes of the response's body after decompression, or of the window of a log. */
  readonly bytes: number;
  /** Number of reads that a list answers; 1 for other requests. */
  readonly reads: number;
  /** Present where it began after the first piece of a result with `@defer` or `@stream`. */
  readonly isDeferred?: boolean;
}

/** What is noted about one command, or one response of the service and the places that load it. */
export class Note implements ReadNote {
  readonly #onLoad: (note: Note) => void;
  readonly #onAttempt: (attempt: ExplainedAttempt) => void;
  readonly places = new Set<Place>();
  /** Places that will probably load it. */
  readonly ahead = new Set<Place>();
  /** The notes of the responses that this list contains. */
  readonly #members: Note[] = [];
  #list: Note | null = null;
  #round = 0;
  #attempts = 0;
  #waitsSince = 0;
  /** The age of the earlier response that answers instead of the service, in milliseconds; null when none does. */
  #staleMs: number | null = null;
  served: Served = "request";
  /** Whether what it caused may be requested. */
  isSettled = false;

  constructor(onLoad: (note: Note) => void, onAttempt: (attempt: ExplainedAttempt) => void) {
    this.#onLoad = onLoad;
    this.#onAttempt = onAttempt;
  }

  /** The round of its request; 0 while nothing loads it. */
  get round(): number {
    return this.#list?.round ?? this.#round;
  }

  /** Notes that a read waits for the response. Another one may have settled: a list item that lacked a key. */
  await(response: Promise<unknown>): void {
    if (this.isSettled) {
      this.#round = 0;
      this.#list = null;
      this.served = "request";
    }
    this.isSettled = false;
    const settle = (): void => void (this.isSettled = true);
    response.then(settle, settle);
  }

  load(): void {
    this.#onLoad(this);
  }

  /** Sets the round, unless the response was loaded before. */
  enter(round: number): void {
    if (this.round === 0) this.#round = round;
  }

  serve(served: Served, list: Note | null = null): void {
    // A record that the list lacks is requested after the list.
    if (this.#list && !list) this.#round = this.#list.round + 1;
    this.served = served;
    this.#list = list;
    if (!list) return;
    list.#members.push(this);
    if (list.#attempts === 0) list.#round = Math.max(list.#round, this.#round);
  }

  /** The age of what it loads; null for what the service said now. */
  get staleMs(): number | null {
    return this.#staleMs ?? this.#list?.staleMs ?? null;
  }

  stale(ageMs: number): void {
    this.served = "stale";
    this.#staleMs = ageMs;
  }

  wait(): void {
    this.#waitsSince = performance.now();
  }

  attempt(endpoint: EndpointName): AttemptNote {
    // The operation whose request it had joined may have left.
    this.served = "request";
    const attempt = openAttempt(this, endpoint, {
      attempt: ++this.#attempts,
      waitsSince: this.#waitsSince,
    });
    this.#onAttempt(attempt);
    return attempt;
  }

  /** The places of all reads that its request answers, and the number of these reads. */
  causes(): NamedPlaces & { readonly reads: number } {
    const notes = [this, ...this.#members];
    const places = new Set(notes.flatMap((note) => [...note.places]));
    return {
      ...firstOf(places.size > 0 ? places : this.ahead),
      reads: Math.max(1, notes.filter((note) => note.places.size > 0).length),
    };
  }
}

/** One upstream request of an explained operation. */
export interface ExplainedAttempt extends AttemptNote {
  readonly round: number;
  readonly report: (operationBegan: number) => ExplainedRequest;
}

function openAttempt(
  note: Note,
  { method, path }: EndpointName,
  { attempt, waitsSince }: { readonly attempt: number; readonly waitsSince: number },
): ExplainedAttempt {
  const began = performance.now();
  const { round } = note;
  let bytes = 0;
  let outcome: { readonly status: number | null; readonly error: string | null; readonly ms: number } | null =
    null;
  return {
    round,
    receive: (received) => (bytes += received),
    end: (status, error) => {
      outcome = { status, error, ms: performance.now() - began };
      // Reads settle with their response, which may take several attempts.
      if (method !== "GET") note.isSettled = true;
    },
    report: (operationBegan) => ({
      method,
      template: path,
      attempt,
      status: outcome?.status ?? null,
      error: outcome?.error ?? null,
      round,
      startMs: tenths(began - operationBegan),
      waitedMs: tenths(began - waitsSince),
      durationMs: outcome && tenths(outcome.ms),
      bytes,
      ...note.causes(),
    }),
  };
}

export const tenths = (ms: number): number => Math.round(ms * 10) / 10;

/** Some places by name, such as `group.experiments.nodes.0.buildJob`, and how many more there are. */
export interface NamedPlaces {
  readonly fields: readonly string[];
  readonly moreFields: number;
}

/** Maximum places that are named. */
const MAX_NAMED = 3;
/** Longest name, in characters: names consist of aliases, which callers choose. */
const MAX_NAME_LENGTH = 200;

export function firstOf(places: ReadonlySet<Place>): NamedPlaces {
  const fields = [...places].slice(0, MAX_NAMED).map((place) => {
    const name = place.path().join(".");
    return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  });
  return { fields, moreFields: places.size - fields.length };
}
