import { GraphQLError } from "graphql";
import { CancelledError } from "../../errors.ts";
import { stopError } from "../errors.ts";
import type { Meter } from "../meter.ts";
import { yieldToEventLoop } from "../../util/event-loop.ts";
import type { ResultSlots } from "./types.ts";

export type Path = readonly (string | number)[];

/** A part of a result that is delivered later: a fragment of the object at its path, or the rest of the list there. */
export interface PendingPart {
  readonly id: string;
  readonly path: Path;
  readonly label?: string;
}

/**
 * A delivery of a part: the fields of the fragment, or the next items of the list. It has neither if the part ends without further data.
 */
export interface IncrementalResult {
  readonly part: PendingPart;
  /** Null when an error has made the object null. */
  readonly data?: ResultSlots | null;
  /** Null when an error has made the list null. */
  readonly items?: unknown[] | null;
  /** Index of the first of the items. */
  readonly from?: number;
  readonly errors: GraphQLError[];
  /** The pending parts within this result, which are delivered later. */
  readonly pending: PendingPart[];
  isLast: boolean;
}

export interface IncrementalPayload {
  readonly delivered: readonly IncrementalResult[];
  readonly hasNext: boolean;
}

/** The payloads after the initial result. They must be read to the end, or `return` must be called. */
export interface IncrementalPayloads {
  /** The pending parts of the initial result. */
  readonly pending: () => readonly PendingPart[];
  /** Resolves with null after the last payload. Never rejects. */
  readonly next: () => Promise<IncrementalPayload | null>;
  /** Stops the operation. */
  readonly return: () => void;
}

/** Maximum results in one payload, so that its errors are converted in a few milliseconds. */
const MAX_DELIVERED = 500;

/** Collects the deliveries of pending parts, and returns them as payloads. */
export function openQueue(meter: Meter) {
  /** The parts with further deliveries. */
  const open = new Set<PendingPart>();
  let first: readonly PendingPart[] = [];
  let delivered: IncrementalResult[] = [];
  let begin: (() => void) | null = null;
  let isOver = false;
  let wake: (() => void) | null = null;

  const deliver = (next: IncrementalResult): void => {
    if (!open.has(next.part)) return;
    if (next.isLast) open.delete(next.part);
    for (const part of next.pending) open.add(part);
    const last = delivered.at(-1);
    if (!last?.items || !next.items || last.part !== next.part) {
      // The older format repeats the path and the label in each result. They are counted once when the part is created, and here for each
      // result except the last.
      if (!next.isLast && !meter.countNames(next.part.path, next.part.label)) return;
      delivered.push(next);
    } else {
      // The arrays are extended, because copying them for each item would take seconds for a long list.
      last.items.push(...next.items);
      last.errors.push(...next.errors);
      last.pending.push(...next.pending);
      last.isLast = next.isLast;
    }
    wake?.();
  };

  const stop = (reason: unknown): void => {
    // The error of a field keeps its cause, from which the code and the message for callers are taken.
    const error = reason instanceof GraphQLError ? reason : stopError(reason);
    for (const part of open) deliver({ part, data: null, errors: [error], pending: [], isLast: true });
  };

  const take = (): IncrementalPayload => {
    const taken = delivered.splice(0, MAX_DELIVERED);
    const payload = { delivered: taken, hasNext: open.size > 0 || delivered.length > 0 };
    isOver = !payload.hasNext;
    return payload;
  };

  const payloads: IncrementalPayloads = {
    pending: () => first,
    next: async () => {
      if (isOver) return null;
      if (begin) meter.onStop(stop);
      begin?.();
      begin = null;
      first = [];
      if (delivered.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      // Results that complete in the same tick are delivered together.
      await yieldToEventLoop();
      return take();
    },
    return: () => {
      if (isOver) return;
      isOver = true;
      meter.stop(new CancelledError("The caller left."));
    },
  };

  return {
    payloads,
    deliver,
    isOpen: (part: PendingPart) => open.has(part),
    /**
     * Opens the queue with the pending parts of the initial result. `onBegin` is called when the initial result has been read, and must
     * start the parts.
     */
    open: (parts: readonly PendingPart[], onBegin: () => void) => {
      first = parts;
      for (const part of parts) open.add(part);
      begin = onBegin;
    },
  };
}

/** Converts the errors of a part. The part is passed as a whole result that contains nothing else. */
export type PublicErrors = (part: {
  readonly errors: GraphQLError[];
  readonly data: unknown;
}) => GraphQLError[];

/** Converts the errors of payloads to errors that callers may see. Calls `onEnd` after the last payload, or when `return` is called. */
export function withPublicErrors(
  payloads: IncrementalPayloads,
  convert: PublicErrors,
  onEnd: () => void,
): IncrementalPayloads {
  const converted = (delivered: IncrementalResult): IncrementalResult => {
    const { part, data = null, items, from = 0, errors } = delivered;
    if (errors.length === 0) return delivered;
    const value = items ? Object.fromEntries(items.map((item, index) => [from + index, item])) : data;
    const whole = part.path.reduceRight<unknown>((below, key) => ({ [key]: below }), value);
    return { ...delivered, errors: convert({ errors, data: whole }) };
  };
  return {
    pending: payloads.pending,
    next: async () => {
      const payload = await payloads.next();
      if (!payload?.hasNext) onEnd();
      return payload && { ...payload, delivered: payload.delivered.map(converted) };
    },
    return: () => {
      payloads.return();
      onEnd();
    },
  };
}
