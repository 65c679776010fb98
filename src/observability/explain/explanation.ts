import type { ResultPlace } from "../../engine/field-source.ts";
import type { ReadNotes, Served, SessionNotes } from "../../rest/session/notes.ts";
import { pathOfName, staleReport } from "./stale.ts";
import {
  type ExplainedAttempt,
  type ExplainedRequest,
  Note,
  tenths,
  firstOf,
  type NamedPlaces,
  pathOf,
} from "./note.ts";

/** What an operation cost: `extensions.explain`. */
interface Report {
  readonly requests: readonly ExplainedRequest[];
  /** Numbers of reads by where the response came from; `shared` are those of a response that another place loaded first. */
  readonly reads: Readonly<Record<Served | "shared", number>>;
  /** Links that cost no request: what is selected of them is part of the reference. */
  readonly free: NamedPlaces & { readonly links: number };
  readonly totals: {
    readonly requests: number;
    readonly rounds: number;
    readonly bytes: number;
    readonly durationMs: number;
    /** Requests of a client that follows each reference by itself. */
    readonly withoutRungraph: number;
  };
}

/** Collects the upstream requests of one operation, and the places of its result that cause them. */
export class Explanation implements SessionNotes {
  readonly #began: number;
  readonly #notes: Note[] = [];
  readonly #attempts: ExplainedAttempt[] = [];
  /** The number of requests that led to the first piece of the result; null until that is complete. */
  #atOnce: number | null = null;
  /** The notes by the names of the places that load them. */
  readonly #byPlace = new Map<string, Note[]>();
  readonly #free = new Set<string>();
  /** The place whose resolver is running. */
  #current: { readonly path: readonly string[]; readonly isAhead: boolean } | null = null;
  /** The mutation that sent the last command, and the rounds before it. */
  #mutation: { readonly root: string | undefined; readonly rounds: number } | null = null;

  /** `began` is by `performance.now()`. */
  constructor(began: number) {
    this.#began = began;
  }

  /** Returns a function that acts for a place: what is loaded meanwhile is loaded for it. */
  forPlace(place: ResultPlace) {
    return <Value>(act: () => Value, isAhead = false): Value => {
      this.#current = { path: pathOf(place), isAhead };
      try {
        return act();
      } finally {
        this.#current = null;
      }
    };
  }

  free(place: ResultPlace): void {
    this.#free.add(pathOf(place).join("."));
  }

  openReads(): ReadNotes {
    const byKey = new Map<string, Note>();
    return {
      open: (key, response) => {
        const note = byKey.get(key) ?? this.#open();
        byKey.set(key, note);
        note.await(response);
        return note;
      },
    };
  }

  openCommand(): Note {
    const root = this.#current?.path[0];
    // Mutations run one after the other.
    if (root !== this.#mutation?.root) this.#mutation = { root, rounds: this.#rounds() };
    const note = this.#open();
    note.load();
    return note;
  }

  extensions() {
    const stale = this.#notes.flatMap(({ staleMs, places }) =>
      staleMs === null ? [] : Array.from(places, (name) => ({ path: pathOfName(name), ageMs: staleMs })),
    );
    return { explain: this.#report(), ...staleReport(stale) };
  }

  #report(): Report {
    const reads = { request: 0, batch: 0, joined: 0, cache: 0, stale: 0, shared: 0 };
    let withoutRungraph = 0;
    for (const { places, served } of this.#notes) {
      withoutRungraph += places.size;
      if (places.size === 0) continue;
      reads[served]++;
      reads.shared += places.size - 1;
    }
    this.#atOnce ??= this.#attempts.length;
    const atOnce = this.#atOnce;
    const requests = this.#attempts.map((attempt, index) => {
      const report = attempt.report(this.#began);
      return index < atOnce ? report : { ...report, isDeferred: true };
    });
    return {
      requests,
      reads,
      free: { links: this.#free.size, ...firstOf(this.#free) },
      totals: {
        requests: requests.length,
        rounds: this.#rounds(),
        bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0),
        durationMs: tenths(performance.now() - this.#began),
        withoutRungraph,
      },
    };
  }

  #open(): Note {
    const note = new Note(
      (loaded) => this.#load(loaded),
      (attempt) => void this.#attempts.push(attempt),
    );
    this.#notes.push(note);
    return note;
  }

  #load(note: Note): void {
    if (!this.#current) return;
    const { path, isAhead } = this.#current;
    const name = path.join(".");
    note.enter(this.#roundOf(path));
    if (isAhead) note.ahead.add(name);
    else if (!note.places.has(name)) {
      note.places.add(name);
      const loaded = this.#byPlace.get(name);
      if (loaded) loaded.push(note);
      else this.#byPlace.set(name, [note]);
    }
  }

  /** The round after the settled ones of a place and of the places above it, which have led to it. */
  #roundOf(path: readonly string[]): number {
    let before = this.#mutation?.rounds ?? 0;
    for (let length = path.length; length > 0; length--) {
      for (const { isSettled, round } of this.#byPlace.get(path.slice(0, length).join(".")) ?? [])
        if (isSettled) before = Math.max(before, round);
    }
    return before + 1;
  }

  #rounds(): number {
    return this.#attempts.reduce((rounds, { round }) => Math.max(rounds, round), 0);
  }
}
