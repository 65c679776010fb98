import { DONE } from "../util/async-iterators.ts";

/** An event for a subscriber: a value, or the error of a poll. The stream may continue after an error. */
export type StreamEvent<Value> = (
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: unknown }
) & {
  /** The `extensions` of the result; null without extensions. */
  readonly extensions: { readonly live: { readonly lateBySeconds: number } } | null;
};

interface StreamSource<Value> {
  /** Returns the next value; null when no value is available yet. */
  readonly take: () => Value | null;
  /** How late the last read was, in milliseconds. */
  readonly latenessMs: () => number;
  readonly onWait: () => void;
  readonly onEnd: () => void;
}

type Result<Value> = IteratorResult<StreamEvent<Value>, undefined>;

/** Events that are at least this late report their lateness in `extensions`, in milliseconds. */
const LATE_MS = 5_000;

const lateness = (ms: number) => (ms < LATE_MS ? null : { live: { lateBySeconds: Math.floor(ms / 1_000) } });

/**
 * The events of one subscriber. No event is buffered: each is taken from the source when the subscriber pulls it. Own code, because an
 * async generator that awaits a promise cannot be ended before the promise settles.
 */
export class LiveStream<Value> implements AsyncIterableIterator<StreamEvent<Value>, undefined> {
  readonly #source: StreamSource<Value>;
  /** The pending `next` of the subscriber. `resolve` is a method, so its parameter is bivariant, as `LiveStream<unknown>` requires. */
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

  /** Delivers an event, if the subscriber waits and an event is available. */
  wake(): void {
    const waiting = this.#waiting;
    const next = waiting && this.#take();
    if (!next) return;
    this.#waiting = null;
    waiting.resolve(next);
  }

  /** Ends the stream after the remaining events of the source. */
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

  /** The next result for the subscriber; null when it has to wait. */
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
