import { openSliceQueue } from "./turns.ts";

interface ResultLimits {
  /** Maximum fields and list items. */
  readonly fields: number;
  /** Maximum bytes as JSON. */
  readonly bytes: number;
  /** Maximum errors. Further nullable fields that fail are null without an error. */
  readonly errors: number;
}

/** Measures the result of one operation while it is completed, stops it above the limits and divides it into time slices. */
export interface Meter {
  readonly limits: ResultLimits;
  /** Counts fields and bytes. Returns false when the operation is stopped. */
  readonly count: (fields: number, bytes: number) => boolean;
  /** Counts a failed field. Returns false when its error is above the limit. */
  readonly countError: () => boolean;
  /** Bytes counted so far. */
  readonly bytes: () => number;
  /** Number of errors above the limit. */
  readonly omittedErrors: () => number;
  /** Queues the value for a time slice. Never settles after the operation is stopped, so no more work or errors follow. */
  readonly pass: <Value>(value: Value) => Promise<Value>;
  /** Whether values are queued. */
  readonly isWaiting: () => boolean;
  /** Calls back when the queue is empty; never after the operation is stopped. */
  readonly onPassed: (callback: () => void) => void;
  readonly isStopped: () => boolean;
  /** Stops the operation: clears the queue and rejects `stopped`. */
  readonly stop: (reason: unknown) => void;
  /** Rejects when the operation is stopped; otherwise never settles. */
  readonly stopped: Promise<never>;
}

export interface MeterSettings {
  /** The caller of the operation: callers take turns. */
  readonly callerKey: string;
  readonly limits: ResultLimits;
  /** Creates the error that stops the operation. */
  readonly tooLarge: (message: string) => Error;
}

export function openMeter({ callerKey, limits, tooLarge }: MeterSettings): Meter {
  const queue = openSliceQueue(callerKey);
  let fields = 0;
  let bytes = 0;
  let errors = 0;
  let isStopped = false;
  let fail: ((reason: unknown) => void) | null = null;
  const stopped = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const never = new Promise<never>(() => {});
  // Prevents an unhandled rejection when nothing awaits it yet.
  stopped.catch(() => {});

  const stop = (reason: unknown): void => {
    isStopped = true;
    queue.clear();
    fail?.(reason);
  };

  return {
    limits,
    count: (moreFields, moreBytes) => {
      if (isStopped) return false;
      fields += moreFields;
      bytes += moreBytes;
      if (fields > limits.fields) {
        stop(tooLarge(`Expected a result of at most ${limits.fields} fields and list items, got more.`));
      } else if (bytes > limits.bytes) {
        stop(tooLarge(`Expected a result of at most ${limits.bytes} bytes, got more.`));
      }
      return !isStopped;
    },
    countError: () => ++errors <= limits.errors,
    bytes: () => bytes,
    omittedErrors: () => Math.max(0, errors - limits.errors),
    pass: (value) => (isStopped ? never : queue.wait(value)),
    isWaiting: () => !queue.isEmpty(),
    onPassed: queue.onEmpty,
    isStopped: () => isStopped,
    stop,
    stopped,
  };
}
