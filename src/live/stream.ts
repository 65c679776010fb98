/** A failure, as an event for the readers of a stream. The stream may continue after it. */
export class Fault {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

interface StreamSource<Event> {
  /** Returns the next event; null when there is none yet. */
  readonly take: () => Event | null;
  readonly onWait: () => void;
  readonly onEnd: () => void;
}

type Result<Event> = IteratorResult<Event | Fault, undefined>;

const DONE = { done: true, value: undefined } as const;

/**
 * The events of one subscriber, pulled at its pace: it holds none itself, each is taken when the subscriber asks for it. Own code:
 * an async generator that waits cannot be ended from outside until it wakes.
 */
export class LiveStream<Event> implements AsyncIterableIterator<Event | Fault, undefined> {
  readonly #source: StreamSource<Event>;
  /** The subscriber that waits for an event. A method, so that streams of all events have one type. */
  #waiting: { resolve(result: Result<Event>): void } | null = null;
  #fault: Fault | null = null;
  #isEnding = false;
  #isOver = false;

  constructor(source: StreamSource<Event>) {
    this.#source = source;
  }

  isWaiting(): boolean {
    return this.#waiting !== null;
  }

  /** Delivers an event to a waiting subscriber, if there is one. */
  wake(): void {
    const waiting = this.#waiting;
    const next = waiting && this.#take();
    if (!next) return;
    this.#waiting = null;
    waiting.resolve(next);
  }

  /** Ends the stream after the events that the source still has. */
  end(): void {
    this.#isEnding = true;
    this.wake();
  }

  /** Passes an error to the subscriber, and ends the stream with it when `isLast`. */
  fail(error: unknown, isLast: boolean): void {
    this.#fault = new Fault(error);
    this.#isEnding ||= isLast;
    this.wake();
  }

  next(): Promise<Result<Event>> {
    const next = this.#take();
    if (next) return Promise.resolve(next);
    return new Promise((resolve) => {
      this.#waiting = { resolve };
      this.#source.onWait();
    });
  }

  return(): Promise<typeof DONE> {
    this.#close();
    this.#waiting?.resolve(DONE);
    this.#waiting = null;
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The result for the subscriber; null when it has to wait. */
  #take(): Result<Event> | null {
    if (this.#isOver) return DONE;
    const value = this.#source.take() ?? this.#fault;
    if (value === null) return this.#isEnding ? this.#close() : null;
    if (value === this.#fault) this.#fault = null;
    return { done: false, value };
  }

  #close(): typeof DONE {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.onEnd();
    }
    return DONE;
  }
}
