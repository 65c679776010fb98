import { DONE } from "../util/async-iterators.ts";

/** An event for a subscriber: a value, or an error of a poll, after which the stream may continue. */
export type StreamEvent<Value> = (
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: unknown }
) & {
  /** The `extensions` of its result; null for none. */
  readonly extensions: { readonly live: { readonly lateBySeconds: number } } | null;
};

interface StreamSource<Value> {
  /** Returns the next value; null when there is none yet. */
  readonly take: () => Value | null;
  /** How late the last read was, in milliseconds. */
  readonly latenessMs: () => number;
  readonly onWait: () => void;
  readonly onEnd: () => void;
}

type Result<Value> = IteratorResult<StreamEvent<Value>, undefined>;

/** From this lateness on an event has it in its `extensions`, in milliseconds. */
const LATE_MS = 5_000;

const lateness = (ms: number) => (ms < LATE_MS ? null : { live: { lateBySeconds: Math.floor(ms / 1_000) } });

/**
 * The events of one subscriber, pulled at its own speed: none is buffered, each is taken from the source when the subscriber pulls it. Own code:
 * an async generator that waits cannot be ended from outside until it wakes.
 */
export class LiveStream<Value> implements AsyncIterableIterator<StreamEvent<Value>, undefined> {
  readonly #source: StreamSource<Value>;
  /** The subscriber that waits for an event. A method, so that streams of all values have one type. */
  #waiting: { resolve(result: Result<Value>): void } | null = null;
  #failure: StreamEvent<Value> | null = null;
  #isEnding = false;
  #isOver = false;

  constructor(source: StreamSource<Value>) {
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
    this.#failure = { error, extensions: null };
    this.#isEnding ||= isLast;
    this.wake();
  }

  next(): Promise<Result<Value>> {
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
  #take(): Result<Value> | null {
    if (this.#isOver) return DONE;
    const value = this.#source.take();
    if (value !== null)
      return { done: false, value: { value, extensions: lateness(this.#source.latenessMs()) } };
    const failure = this.#failure;
    this.#failure = null;
    if (failure) return { done: false, value: failure };
    return this.#isEnding ? this.#close() : null;
  }

  #close(): typeof DONE {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.onEnd();
    }
    return DONE;
  }
}
