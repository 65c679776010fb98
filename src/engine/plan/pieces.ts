import { GraphQLError } from "graphql";
import { Cancelled } from "../../errors.ts";
import type { Meter } from "../meter.ts";
import { nextTurn } from "../turns.ts";
import type { Slots } from "./types.ts";

export type Path = readonly (string | number)[];

/** A part of a result that is delivered later: an object with deferred fields, or a list. */
export interface Pending {
  readonly id: string;
  readonly path: Path;
  readonly label?: string;
}

/** What belongs to a pending part: fields of the object at its path and `subPath`, or the next items of the list. */
export interface Delivered {
  readonly id: string;
  readonly subPath?: Path;
  readonly data?: Slots;
  readonly items?: readonly unknown[];
  /** Index of the first of the items. */
  readonly from?: number;
  readonly errors?: readonly GraphQLError[];
}

/** A pending part to which nothing follows. With errors it could not be completed. */
export interface Completed {
  readonly id: string;
  readonly errors?: readonly GraphQLError[];
}

/** One piece of a result, as the draft of the specification has it. */
export interface Piece {
  readonly pending: readonly Pending[];
  readonly incremental: readonly Delivered[];
  readonly completed: readonly Completed[];
  readonly hasNext: boolean;
}

/** The pieces of a result after the first. `return` stops the operation. */
export interface Pieces {
  /** What follows the first result. Empties it. */
  readonly announced: () => readonly Pending[];
  readonly hasNext: () => boolean;
  readonly pathOf: (id: string) => Path;
  readonly next: () => Promise<Piece | null>;
  readonly return: () => void;
}

/** Measured size of `{"id":"10","path":[]}` and what surrounds it. */
const BYTES_PER_PART = 90;
const BYTES_PER_KEY = 12;

/** Opens the queue of an operation's pieces. Whatever is complete when the reader asks for more becomes one piece. */
export function openQueue(meter: Meter, onTaken: () => void) {
  /** The paths of the parts that are pending. */
  const open = new Map<string, Path>();
  const paths = new Map<string, Path>();
  let pending: Pending[] = [];
  let incremental: Delivered[] = [];
  let completed: Completed[] = [];
  let isTaken = false;
  let isOver = false;
  let wake: (() => void) | null = null;

  const stop = (reason: unknown): void => {
    const error =
      reason instanceof GraphQLError ? reason : new GraphQLError("", { originalError: reason as Error });
    for (const id of open.keys()) completed.push({ id, errors: [error] });
    open.clear();
    wake?.();
  };

  const take = (): Piece => {
    const piece = { pending, incremental, completed, hasNext: open.size > 0 };
    pending = [];
    incremental = [];
    completed = [];
    isOver = !piece.hasNext;
    return piece;
  };

  const pieces: Pieces = {
    announced: () => {
      meter.onStop(stop);
      return pending.splice(0);
    },
    hasNext: () => open.size > 0,
    pathOf: (id) => paths.get(id) ?? [],
    next: async () => {
      if (isOver) return null;
      if (!isTaken) {
        isTaken = true;
        onTaken();
      }
      if (completed.length === 0 && incremental.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      // What is complete in the same turn of the event loop is sent together.
      await nextTurn();
      return take();
    },
    return: () => {
      if (isOver) return;
      isOver = true;
      meter.stop(new Cancelled("The caller left."));
    },
  };

  return {
    pieces,
    isTaken: () => isTaken,
    announce: (path: Path, label: string | null): string => {
      const id = String(paths.size);
      paths.set(id, path);
      open.set(id, path);
      pending.push({ id, path, ...(label === null ? {} : { label }) });
      meter.count(1, BYTES_PER_PART + path.length * BYTES_PER_KEY);
      return id;
    },
    deliver: (
      id: string,
      subPath: Path,
      given: Pick<Delivered, "data" | "items" | "from">,
      errors: readonly GraphQLError[],
    ): void => {
      if (!open.has(id)) return;
      const last = incremental.at(-1);
      if (given.items && last?.id === id && last.items) {
        const all = [...(last.errors ?? []), ...errors];
        incremental[incremental.length - 1] = {
          ...last,
          items: [...last.items, ...given.items],
          ...(all.length > 0 && { errors: all }),
        };
      } else {
        const below = subPath.length > 0 && { subPath };
        incremental.push({ id, ...below, ...given, ...(errors.length > 0 && { errors }) });
      }
      wake?.();
    },
    complete: (id: string, errors: readonly GraphQLError[]): void => {
      if (!open.delete(id)) return;
      completed.push({ id, ...(errors.length > 0 && { errors }) });
      wake?.();
    },
  };
}
