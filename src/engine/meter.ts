import { isSliceOver, openLine } from "./turns.ts";

interface ResultLimits {
  /** Fields and list items of one result. */
  readonly fields: number;
  /** Bytes of one result as JSON. */
  readonly bytes: number;
  /** Errors of one answer; further fields that fail are null without one. */
  readonly errors: number;
}

/** Counts what is completed of one operation's result, and cuts the work into time slices. */
export interface Meter {
  readonly limits: ResultLimits;
  /** Counts fields and bytes. Gives false when the operation is stopped: nothing more of it is needed. */
  readonly count: (fields: number, bytes: number) => boolean;
  /** Counts a field that failed. Gives false when there are too many to tell of each. */
  readonly countError: () => boolean;
  /** Bytes so far. */
  readonly bytes: () => number;
  /** Errors that were left out. */
  readonly untoldErrors: () => number;
  /** The value at once while the time slice lasts, else in a later one. What is below it waits with it. */
  readonly gate: <Value>(value: Value) => Value | Promise<Value>;
  /** The same for a value that was waited for: many may come at once, and the clock tells only after the work on each. */
  readonly pass: <Value>(value: Value) => Promise<Value>;
  /** Whether values wait at the gate. */
  readonly isWaiting: () => boolean;
  /** Calls back when the last that waits has passed, and never once the operation is stopped. */
  readonly onPassed: (callback: () => void) => void;
  readonly isStopped: () => boolean;
  /** Ends the operation: what waits is forgotten, and `stopped` rejects. */
  readonly stop: (reason: unknown) => void;
  /** Rejects when the operation is stopped, and settles in no other way. */
  readonly stopped: Promise<never>;
  /** What a field gives once the operation is stopped. It never settles, so nothing more is done, and no error is made. */
  readonly never: Promise<never>;
}

export interface MeterSettings {
  /** Whose operation it is: parties take turns. */
  readonly callerKey: string;
  readonly limits: ResultLimits;
  /** Makes the error that stops the operation. */
  readonly tooLarge: (message: string) => Error;
}

export function openMeter({ callerKey, limits, tooLarge }: MeterSettings): Meter {
  const line = openLine(callerKey);
  let fields = 0;
  let bytes = 0;
  let errors = 0;
  let isStopped = false;
  let fail: ((reason: unknown) => void) | null = null;
  const stopped = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const never = new Promise<never>(() => {});
  // Whoever runs the operation looks at it when there is something to wait for.
  stopped.catch(() => {});

  const stop = (reason: unknown): void => {
    isStopped = true;
    line.clear();
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
    untoldErrors: () => Math.max(0, errors - limits.errors),
    gate: (value) => (isStopped ? never : isSliceOver() ? line.wait(value) : value),
    pass: (value) => (isStopped ? never : line.wait(value)),
    isWaiting: () => !line.isEmpty(),
    onPassed: line.onEmpty,
    isStopped: () => isStopped,
    stop,
    stopped,
    never,
  };
}
