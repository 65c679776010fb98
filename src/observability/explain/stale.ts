import type { ResultPlace } from "../../engine/field-source.ts";
import type { AttemptNote } from "../../rest/client/request.ts";
import type { ReadNote, ReadNotes, Served, SessionNotes } from "../../rest/session/notes.ts";

/** A place of the result that shows an earlier response. */
interface StalePlace {
  readonly path: readonly (string | number)[];
  readonly ageMs: number;
}

/** Maximum places that are told, and characters of the paths that are looked at: aliases can be as long as the document. */
const MAX_TOLD = 500;
const MAX_CHARACTERS = 100_000;

/** `extensions.stale`: the places of a result that show an earlier response, and its age. Null when there are none. */
export function staleReport(places: Iterable<StalePlace>): { readonly stale: readonly object[] } | null {
  // Several fields of a place load its record.
  const told = new Map<string, { readonly path: StalePlace["path"]; readonly ageSeconds: number }>();
  let characters = 0;
  for (const { path, ageMs } of places) {
    const name = JSON.stringify(path);
    characters += name.length;
    if (told.size === MAX_TOLD || (told.size > 0 && characters > MAX_CHARACTERS)) break;
    const ageSeconds = Math.max(told.get(name)?.ageSeconds ?? 0, Math.ceil(ageMs / 1000));
    told.set(name, { path, ageSeconds });
  }
  return told.size > 0 ? { stale: [...told.values()] } : null;
}

/** The place of a name such as `group.experiments.nodes.0`: names of fields do not begin with a digit. */
export const pathOfName = (name: string): readonly (string | number)[] =>
  name.split(".").map((at) => (/^\d/.test(at) ? Number(at) : at));

/** Notes which places of an operation's result show earlier responses, and nothing else. */
export class StalePlaces implements SessionNotes {
  readonly #notes: StaleNote[] = [];
  /** The place whose resolver is running. */
  #current: ResultPlace | null = null;

  /** Returns a function that acts for a place: what is loaded meanwhile is loaded for it. */
  forPlace(place: ResultPlace) {
    return <Value>(act: () => Value, isAhead = false): Value => {
      this.#current = isAhead ? null : place;
      try {
        return act();
      } finally {
        this.#current = null;
      }
    };
  }

  free(): void {}

  openReads(): ReadNotes {
    const byKey = new Map<string, StaleNote>();
    return {
      open: (key) => {
        const note = byKey.get(key) ?? new StaleNote(() => this.#current);
        if (!byKey.has(key)) this.#notes.push(note);
        byKey.set(key, note);
        return note;
      },
    };
  }

  openCommand() {
    return { wait: (): void => {}, attempt: () => NO_NOTE };
  }

  extensions() {
    return staleReport(
      this.#notes.flatMap(({ places, staleMs }) =>
        staleMs === null ? [] : Array.from(places, (place) => ({ path: pathOf(place), ageMs: staleMs })),
      ),
    );
  }
}

const NO_NOTE: AttemptNote = { receive: () => {}, end: () => {} };

class StaleNote implements ReadNote {
  readonly places = new Set<ResultPlace>();
  readonly #current: () => ResultPlace | null;
  #list: ReadNote | null = null;
  #staleMs: number | null = null;

  constructor(current: () => ResultPlace | null) {
    this.#current = current;
  }

  get staleMs(): number | null {
    return this.#staleMs ?? this.#list?.staleMs ?? null;
  }

  load(): void {
    const place = this.#current();
    if (place) this.places.add(place);
  }

  serve(_served: Served, list: ReadNote | null = null): void {
    this.#list = list;
  }

  stale(ageMs: number): void {
    this.#staleMs = ageMs;
  }

  wait(): void {}

  attempt(): AttemptNote {
    return NO_NOTE;
  }
}

function pathOf(place: ResultPlace): readonly (string | number)[] {
  const path: (string | number)[] = [];
  for (let each = place; each.parent; each = each.parent) path.push(each.at);
  return path.toReversed();
}
