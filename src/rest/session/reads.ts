import type { Session } from "./session.ts";
import type { Meter } from "../../engine/meter.ts";

/**
 * The session of an operation that is completed in time slices. What is done with an answer is part of a slice. Reads
 * start when nothing waits for one: otherwise what the loaders join would depend on how fast the machine is.
 */
export function readTogether(session: Session, meter: Meter): Session {
  let waiting: (() => void)[] = [];

  // Once everything that follows without waiting has run, as DataLoader does it.
  const startLater = (): void => void Promise.resolve().then(() => process.nextTick(start));
  const start = (): void => {
    // Of an operation that was stopped nothing more is read.
    if (meter.isStopped()) return;
    if (meter.isWaiting()) {
      meter.onPassed(startLater);
      return;
    }
    const starting = waiting;
    waiting = [];
    for (const each of starting) each();
  };

  const together = (inner: Session): Session => ({
    ...inner,
    read: async (...given) => {
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) === 1) startLater();
      });
      return meter.pass(await inner.read(...given));
    },
    window: async (...given) => meter.pass(await inner.window(...given)),
    as: (token) => together(inner.as(token)),
  });
  return together(session);
}
