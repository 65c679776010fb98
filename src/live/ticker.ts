import { isPassing, Failure, isFailure } from "../errors.ts";
import type { Session } from "../rest/session/session.ts";
import type { Clock } from "../clock.ts";
import type { Rate } from "../rate.ts";
import type { LiveStream } from "./stream.ts";

/** One thing that is read again and again for its subscribers. */
export interface Poll {
  /** Whether a subscriber waits for it. */
  readonly isWanted: () => boolean;
  /** Reads it. Resolves with whether anything has changed. */
  readonly read: (session: Session) => Promise<boolean>;
  readonly streams: () => readonly LiveStream<unknown>[];
}

export type Ticker = ReturnType<typeof createTicker>;

/** The interval after a change, and the longest one, in milliseconds. It doubles while nothing changes. */
const FIRST_INTERVAL_MS = 1_000;
const MAX_INTERVAL_MS = 15_000;

/** How long a new poll waits for others to join its request, in milliseconds: a page subscribes to many runs at once. */
const GATHER_MS = 20;

/** How long the service may fail until subscribers get the error, in milliseconds. */
const SURVIVED_MS = 60_000;

/** How long it is not said again that changes are seen late, in milliseconds. */
const SAID_MS = 300_000;

const LATE = new Failure(
  "RATE_LIMITED",
  "The requests of this token use up what the service allows: changes are seen later than after 15 seconds.",
);

interface Entry {
  readonly poll: Poll;
  dueAt: number;
  intervalMs: number;
  isReading: boolean;
  /** Since when every read fails; null while none does. */
  failingSince: number | null;
  /** Whether the subscribers have got the error of the present outage. */
  isReported: boolean;
  /** Until when its subscribers know that it is read too late. */
  lateUntil: number;
}

/**
 * Creates the ticker of one token. Each tick opens one session and reads all due polls in it, so that equal reads share a
 * request and reads that one list covers become that list. Polls are due on multiples of their interval since the start:
 * polls with the same interval are due in the same tick. `openTick` opens the session of one, which may send so many requests.
 */
export function createTicker(
  clock: Clock,
  rate: Rate,
  openTick: (requests: number) => { readonly session: Session; readonly end: () => void },
) {
  const entries = new Set<Entry>();
  const start = clock.now();
  /** No poll is read before: the service asked for a pause. */
  let pausedUntil = start;
  let cancelTimer: (() => void) | null = null;
  let cancelReport: (() => void) | null = null;

  const schedule = (): void => {
    cancelTimer?.();
    let dueAt = Number.POSITIVE_INFINITY;
    for (const entry of entries)
      if (!entry.isReading && entry.poll.isWanted()) dueAt = Math.min(dueAt, entry.dueAt);
    if (dueAt === Number.POSITIVE_INFINITY) return;
    const now = clock.now();
    const at = Math.max(now, dueAt, pausedUntil, rate.nextAt(now));
    cancelTimer = clock.after(Math.ceil(at - now), () => void tick());
  };

  const nextDue = (intervalMs: number): number =>
    start + (Math.floor((clock.now() - start) / intervalMs) + 1) * intervalMs;

  const tick = async (): Promise<void> => {
    const now = clock.now();
    const requests = rate.room(now);
    const due = [...entries]
      .filter(({ dueAt, isReading, poll }) => dueAt <= now && !isReading && poll.isWanted())
      .toSorted((one, other) => one.dueAt - other.dueAt);
    if (due.length > 0 && requests > 0) {
      const { session, end } = openTick(requests);
      const reads = due.map((entry) => read(entry, session));
      schedule();
      await Promise.all(reads);
      end();
    } else schedule();
  };

  const read = async (entry: Entry, session: Session): Promise<void> => {
    entry.isReading = true;
    const began = clock.now();
    try {
      const isChanged = await entry.poll.read(session);
      entry.failingSince = null;
      entry.isReported = false;
      if (clock.now() - began > MAX_INTERVAL_MS) tellLate(entry);
      entry.intervalMs = isChanged ? FIRST_INTERVAL_MS : Math.min(2 * entry.intervalMs, MAX_INTERVAL_MS);
      entry.dueAt = nextDue(entry.intervalMs);
    } catch (error) {
      fail(entry, error);
    } finally {
      entry.isReading = false;
      // The others of the tick may take longer.
      schedule();
    }
  };

  const fail = (entry: Entry, error: unknown): void => {
    // The tick's requests were used up by polls that had waited longer: it is the first of the next tick.
    if (isFailure(error, "REQUEST_LIMIT_EXCEEDED")) return;
    if (!isPassing(error)) {
      entries.delete(entry);
      return tell(entry, error, true);
    }
    const now = clock.now();
    // A service that is away says when it may be back, not that it must not be asked.
    const { retryAfterSeconds = 0, upstream } = error.code === "RATE_LIMITED" ? error.facts : {};
    // What the pace says without a refusal is true for a moment.
    const pauseMs = Math.min(retryAfterSeconds * 1_000, upstream?.status ? Infinity : MAX_INTERVAL_MS);
    pausedUntil = Math.max(pausedUntil, now + pauseMs);
    // After a pause it is the first, as well.
    if (pausedUntil <= now) {
      entry.intervalMs = Math.min(2 * entry.intervalMs, MAX_INTERVAL_MS);
      entry.dueAt = nextDue(entry.intervalMs);
    }
    entry.failingSince ??= now;
    const reportAt = entry.failingSince + SURVIVED_MS;
    if (now >= reportAt) report(entry, error);
    if (now >= reportAt || pausedUntil <= reportAt) return;
    // No poll is read when the time has come to report.
    cancelReport?.();
    cancelReport = clock.after(reportAt - now, () => reportPause(error));
  };

  const tell = ({ poll }: Entry, error: unknown, isLast = false): void => {
    for (const stream of poll.streams()) stream.fail(error, isLast);
  };

  /** Reports once that reads come too late, until they have been in time for a while. */
  const tellLate = (entry: Entry): void => {
    if (clock.now() > entry.lateUntil) tell(entry, LATE);
    entry.lateUntil = clock.now() + SAID_MS;
  };

  /** Reports an error once for each outage. */
  const report = (entry: Entry, error: Failure): void => {
    if (entry.isReported) return;
    entry.isReported = true;
    tell(entry, error);
  };

  /** Reports a pause to the subscribers of all polls, with the time that is left of it. */
  const reportPause = ({ code, message, facts }: Failure): void => {
    const retryAfterSeconds = Math.ceil((pausedUntil - clock.now()) / 1_000);
    const error = new Failure(code, message, { ...facts, retryAfterSeconds });
    for (const entry of entries) if (entry.poll.isWanted()) report(entry, error);
  };

  return {
    /** Adds a poll, which is read soon. */
    add: (poll: Poll) => {
      const entry: Entry = {
        poll,
        dueAt: clock.now() + GATHER_MS,
        intervalMs: FIRST_INTERVAL_MS,
        isReading: false,
        failingSince: null,
        isReported: false,
        lateUntil: Number.NEGATIVE_INFINITY,
      };
      entries.add(entry);
      schedule();
      return {
        /** Reads the poll at the next occasion instead of after its interval. */
        readSoon: () => {
          entry.dueAt = Math.min(entry.dueAt, clock.now());
          schedule();
        },
        /** Reads the poll when it is due, now that a subscriber waits. */
        wake: schedule,
        /** Whether it has failed for good: nobody can join it any more. */
        isOver: () => !entries.has(entry),
        remove: () => {
          entries.delete(entry);
          schedule();
        },
      };
    },
    size: () => entries.size,
  };
}
