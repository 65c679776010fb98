import type { RequestNote } from "../client/request.ts";

/** Where the response of a read comes from. */
export type Served =
  /** An upstream request of its own. */
  | "request"
  /** A list that was requested for several reads. */
  | "batch"
  /** A request of another operation of the same token. */
  | "joined"
  /** A response that was kept. */
  | "cache"
  /** A response that was kept for longer, because the service gives none. */
  | "stale";

/** Notes about one response of an operation with notes, whichever reads load it. */
export interface ReadNote extends RequestNote {
  /** Notes that the place whose resolver is running loads the response. */
  load(): void;
  /** Notes where the response comes from; `list` is the note of the list that contains it. */
  serve(served: Served, list?: ReadNote | null): void;
  /** Notes that an earlier response answers, of that age in milliseconds, because the service gives none. */
  stale(ageMs: number): void;
  /** The age of that response; null for what the service said now. */
  readonly staleMs: number | null;
}

/** Notes about the reads between two commands. */
export interface ReadNotes {
  /** Opens the note of a response. The same key gives the same note. */
  readonly open: (key: string, response: Promise<unknown>) => ReadNote;
}

export interface SessionNotes {
  readonly openReads: () => ReadNotes;
  readonly openCommand: () => RequestNote;
}
