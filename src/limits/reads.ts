import type { Session } from "../rest/session.ts";
import type { Meter } from "./meter.ts";

/**
 * The session of an operation that is completed in time slices: its reads start when nothing waits for a slice. Otherwise
 * what the loaders join into one request would depend on how fast the machine is.
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
    read: (...given) =>
      new Promise((resolve) => {
        if (waiting.push(() => resolve(inner.read(...given))) === 1) startLater();
      }),
    as: (token) => together(inner.as(token)),
  });
  return together(session);
}
