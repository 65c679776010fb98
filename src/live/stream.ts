/** A failure, as an event for the readers of a stream. The stream may continue after it. */
export class Fault {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The events of one subscriber, pulled at its pace. */
export type LiveStream<Event> = AsyncIterableIterator<Event | Fault>;

/** The side of a stream that knows when there is something to read. */
export interface Reader {
  /** Whether the subscriber waits for an event. */
  readonly isWaiting: () => boolean;
  /** Delivers an event to a waiting subscriber, if there is one. */
  readonly wake: () => void;
  /** Ends the stream after the events that `take` still returns. */
  readonly end: () => void;
  /** Passes an error to the subscriber, and ends the stream with it when `isLast`. */
  readonly fail: (error: unknown, isLast: boolean) => void;
}

interface StreamSource<Event> {
  /** Returns the next event; null when there is none yet. */
  readonly take: () => Event | null;
  /** Called when the subscriber begins to wait. */
  readonly onWait: () => void;
  /** Called once when the stream ends. */
  readonly onEnd: () => void;
}

const DONE = { done: true, value: undefined } as const;

/**
 * Opens a stream. It holds no events itself: each is taken when the subscriber asks for it. Own code: an async generator
 * that waits cannot be ended from outside until it wakes.
 */
export function openStream<Event>({ take, onWait, onEnd }: StreamSource<Event>): {
  readonly stream: LiveStream<Event>;
  readonly reader: Reader;
} {
  let waiting: ((result: IteratorResult<Event | Fault, undefined>) => void) | null = null;
  let fault: Fault | null = null;
  let isEnding = false;
  let isOver = false;

  const close = (): typeof DONE => {
    if (!isOver) {
      isOver = true;
      onEnd();
    }
    return DONE;
  };

  /** The result for the subscriber; null when it has to wait. */
  const result = (): IteratorResult<Event | Fault, undefined> | null => {
    if (isOver) return DONE;
    const value = take() ?? fault;
    if (value === null) return isEnding ? close() : null;
    if (value === fault) fault = null;
    return { done: false, value };
  };

  const wake = (): void => {
    if (!waiting) return;
    const next = result();
    if (!next) return;
    const resolve = waiting;
    waiting = null;
    resolve(next);
  };

  const finish = (): Promise<typeof DONE> => {
    close();
    waiting?.(DONE);
    waiting = null;
    return Promise.resolve(DONE);
  };

  const stream: LiveStream<Event> = {
    next: () => {
      const next = result();
      if (next) return Promise.resolve(next);
      return new Promise((resolve) => {
        waiting = resolve;
        onWait();
      });
    },
    return: finish,
    [Symbol.asyncIterator]: () => stream,
  };

  return {
    stream,
    reader: {
      isWaiting: () => waiting !== null,
      wake,
      end: () => {
        isEnding = true;
        wake();
      },
      fail: (error, isLast) => {
        fault = new Fault(error);
        isEnding ||= isLast;
        wake();
      },
    },
  };
}
