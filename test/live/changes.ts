import type { Field, Received, startBusyProject } from "./busy-project.ts";

export type Project = Awaited<ReturnType<typeof startBusyProject>>;
export type Watched = readonly [field: Field, id: number];

export const FIELDS = ["runUpdated", "experimentMetricRecorded", "runLogAppended"] as const;

/** A change of a run at a time, in milliseconds: the change itself, and the event that each subscription to a field receives. */
export interface Change {
  readonly at: number;
  readonly id: number;
  readonly act: (project: Project) => void;
  /** A part of the result; null for the end of the stream. */
  readonly expected: Partial<Record<Field, string | null>>;
}

const metric = (at: number, id: number, record: number): Change => ({
  at,
  id,
  act: (project) => project.record(id, record),
  expected: { experimentMetricRecorded: `"internalId":"${record}"` },
});

/** Records of a busy run, one every `every` milliseconds. The run already has a record. */
export const busy = (id: number, from: number, every: number, count: number, first = 2): Change[] =>
  Array.from({ length: count }, (_, index) => metric(from + index * every, id, first + index));

export const line = (at: number, id: number): Change => ({
  at,
  id,
  act: (project) => project.appendLog(id, `line at ${at}\n`),
  expected: { runLogAppended: `line at ${at}` },
});

export const status = (at: number, id: number, value: string): Change => ({
  at,
  id,
  act: (project) => project.setStatus(id, value),
  expected: { runUpdated: `"status":"${value.toUpperCase()}"` },
});

const END = { runUpdated: null, experimentMetricRecorded: null, runLogAppended: null };

export const end = (at: number, id: number): Change => ({
  at,
  id,
  act: (project) => project.setStatus(id, "succeeded"),
  expected: END,
});

export const removal = (at: number, id: number): Change => ({
  at,
  id,
  act: (project) => project.remove(id),
  expected: END,
});

const isEnd = ({ expected }: Change): boolean => expected === END;

/** The event that a subscription received for a change, and its delay in milliseconds. */
export interface Report {
  readonly what: string;
  readonly ms: number;
  /** Null for the end of a stream, and if no event arrived. */
  readonly result: string | null;
}

/** Subscribes, applies the changes, and returns a report of each change for each of its subscriptions. */
export async function play(
  project: Project,
  watched: readonly Watched[],
  changes: readonly Change[],
  until: number,
): Promise<Report[]> {
  const watches: { field: Field; id: number; received: readonly Received[] }[] = [];
  for (const [field, id] of watched) watches.push({ field, id, received: await project.watch(field, id) });
  for (const { at, act } of changes.toSorted((one, other) => one.at - other.at)) {
    await project.pass(at);
    act(project);
  }
  await project.pass(until);
  return changes.flatMap(({ at, id, expected }) =>
    watches
      .filter((watch) => watch.id === id && expected[watch.field] !== undefined)
      .map(({ field, received }) => {
        const part = expected[field] ?? null;
        const shows = (result: string | null) => (part === null ? result === null : result?.includes(part));
        const found = received.find((each) => each.at >= at && shows(each.result));
        const ms = found ? found.at - at : Number.POSITIVE_INFINITY;
        return { what: `${field} ${id} ${part} at ${at}`, ms, result: found?.result ?? null };
      }),
  );
}

export const laterThan = (ms: number, reports: readonly Report[]) =>
  reports.filter((report) => report.ms > ms);

/** Requests that repeat a request of the last half second. Excludes the last requests for a run that has ended. */
export const repeated = (project: Project, changes: readonly Change[]) =>
  project.requests().filter(({ at, call }, index, all) => {
    const isLast = changes.some(
      (change) => isEnd(change) && change.at <= at && call.includes(`/${change.id}/`),
    );
    return !isLast && all.slice(0, index).some((each) => each.call === call && at - each.at <= 500);
  });

/** Requests for a run, alone or in a list of ids, more than 15 seconds after it ended. */
export const afterEnds = (project: Project, changes: readonly Change[]) =>
  changes.filter(isEnd).flatMap(({ at, id }) => {
    const ofRun = new RegExp(`(?:experiments/|%3A|%7C)${id}(?!\\d)`);
    return project.requests().filter((each) => each.at > at + 15_000 && ofRun.test(each.call));
  });
