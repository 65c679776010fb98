import type { ResultPlace } from "../../engine/field-source.ts";
import type { ReadNotes, Served, SessionNotes } from "../../rest/session/reads.ts";
import {
  type ExplainedAttempt,
  type ExplainedRequest,
  firstOf,
  type NamedPlaces,
  Note,
  Place,
  tenths,
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

/** Maximum places that are told, and characters of the paths that are looked at: aliases can be as long as the document. */
const MAX_STALE = 500;
const MAX_CHARACTERS = 100_000;

/**
 * Collects the upstream requests of one operation, the places of its result that cause them, and those that show an earlier
 * response.
 */
export class Explanation implements SessionNotes {
  readonly #began: number;
  /** Whether the caller asks what the operation costs. */
  readonly #isAsked: boolean;
  readonly #notes: Note[] = [];
  readonly #attempts: ExplainedAttempt[] = [];
  /** The number of requests that led to the first piece of the result; null until that is complete. */
  #atOnce: number | null = null;
  readonly #root = new Place(null, "");
  readonly #free = new Set<Place>();
  /** The place whose resolver is running. */
  #current: { readonly place: ResultPlace; readonly isAhead: boolean } | null = null;
  /** The place of the mutation that sent the last command, and the rounds before it. */
  #mutation: { readonly top: Place | null; readonly rounds: number } | null = null;

  /** `began` is by `performance.now()`. */
  constructor(began: number, isAsked: boolean) {
    this.#began = began;
    this.#isAsked = isAsked;
  }

  /** Returns a function that acts for a place: what is loaded meanwhile is loaded for it. */
  forPlace(place: ResultPlace) {
    return <Value>(act: () => Value, isAhead = false): Value => {
      this.#current = { place, isAhead };
      try {
        return act();
      } finally {
        this.#current = null;
      }
    };
  }

  free(place: ResultPlace): void {
    this.#free.add(this.#placeOf(place));
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
    let top = this.#current && this.#placeOf(this.#current.place);
    while (top?.parent?.parent) top = top.parent;
    // Mutations run one after the other.
    if (top !== (this.#mutation?.top ?? null)) this.#mutation = { top, rounds: this.#rounds() };
    const note = this.#open();
    note.load();
    return note;
  }

  /** `extensions.explain` if the caller asks for it, and `extensions.stale` if there are such places; null without either. */
  extensions(): object | null {
    const stale = this.#stale();
    if (!this.#isAsked && stale.length === 0) return null;
    return { ...(this.#isAsked && { explain: this.#report() }), ...(stale.length > 0 && { stale }) };
  }

  /** The places that show an earlier response, and its age. */
  #stale(): readonly object[] {
    const ages = new Map<Place, number>();
    for (const { places, staleMs } of this.#notes) {
      if (staleMs === null) continue;
      // Several fields of a place load its record.
      for (const place of places) ages.set(place, Math.max(ages.get(place) ?? 0, Math.ceil(staleMs / 1000)));
    }
    const told: object[] = [];
    let characters = 0;
    for (const [place, ageSeconds] of ages) {
      const path = place.path();
      characters += JSON.stringify(path).length;
      if (told.length === MAX_STALE || (told.length > 0 && characters > MAX_CHARACTERS)) break;
      told.push({ path, ageSeconds });
    }
    return told;
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
    const place = this.#placeOf(this.#current.place);
    note.enter(this.#roundOf(place));
    if (this.#current.isAhead) note.ahead.add(place);
    else if (!note.places.has(place)) {
      note.places.add(place);
      place.notes.push(note);
    }
  }

  #placeOf({ parent, at }: ResultPlace): Place {
    if (!parent) return this.#root;
    const above = this.#placeOf(parent);
    const place = above.below.get(at) ?? new Place(above, at);
    above.below.set(at, place);
    return place;
  }

  /** The round after the settled ones of a place and of the places above it, which have led to it. */
  #roundOf(place: Place): number {
    let before = this.#mutation?.rounds ?? 0;
    for (let above: Place | null = place; above; above = above.parent)
      for (const { isSettled, round } of above.notes) if (isSettled) before = Math.max(before, round);
    return before + 1;
  }

  #rounds(): number {
    return this.#attempts.reduce((rounds, { round }) => Math.max(rounds, round), 0);
  }
}
