import { isTransient, GatewayError } from "../../errors.ts";
import { estimateHeapBytes } from "../../callers/memory-budget.ts";
import { millisecondsOf } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { Slice } from "../../rest/session/pagination.ts";
import { type RunStatus, statusOf } from "../types/status.ts";
import { SHARED_TICK_MS, yieldToEventLoop } from "../../util/event-loop.ts";
import { latestOf, type Update, updateOf, type UpdateReason } from "./events.ts";

/* The state of a polled list of runs, including the runs that have left it, and the events that follow from a state for one subscriber. */

type Known = Partial<RunnableRecord>;

/** A run of the list. As long as the run does not change, successive states share its row. */
interface Row {
  readonly record: Known;
  /** The version of the first state with this record. */
  readonly version: number;
  /** Estimated memory of the record, in bytes. */
  readonly bytes: number;
}
type Rows = ReadonlyMap<string, Row>;

/** A run that has left the list. Its record was read after it had left, unless the reason is `GONE`. */
interface Left {
  readonly row: Row;
  readonly reason: UpdateReason;
}

export interface ListState {
  readonly version: number;
  readonly rows: Rows;
  /** Runs that are no longer on the page, with their last records. They must be read to find out whether they have left the list. */
  readonly leaving: Rows;
  /** Runs that have left the list, kept for subscribers that have not received the event yet. */
  readonly left: ReadonlyMap<string, Left>;
  /** Whether a matching run with this record would be on the page. */
  readonly covers: (record: Known) => boolean;
}

/** The first page of a list; with a scan, the matching runs of that page. */
export interface FirstPage extends Pick<Slice<RunnableRecord>, "items" | "hasNext"> {
  /** The last row of a scan, whether it matches or not. Absent without a scan, and if the page is full. */
  readonly last?: RunnableRecord | undefined;
}

export interface Watched {
  /** Whether the list has a filter. */
  readonly isFiltered: boolean;
  /** Whether the list is sorted by the time of the last change, newest first. */
  readonly isNewestFirst: boolean;
  readonly readPage: () => Promise<FirstPage>;
  readonly readRun: (id: string) => Promise<Known>;
}

/**
 * Maximum number of runs that have left the list and are kept for slow subscribers. Also limits the runs outside the page whose last status
 * is kept for a subscriber.
 */
const MAX_LEFT_ROWS = 500;

/** Estimated memory of a state, in bytes. */
export function bytesOfList({ rows, leaving, left }: ListState): number {
  let bytes = 0;
  for (const row of [...rows.values(), ...leaving.values()]) bytes += row.bytes;
  for (const { row } of left.values()) bytes += row.bytes;
  return bytes;
}

/** Reads the list, and each run that has left its page since the last read. Resolves with `before` itself if nothing has changed. */
export async function readList(
  watched: Watched,
  before: ListState | null,
  isSeen: boolean,
): Promise<ListState> {
  const listed = await listedAfter(before, await watched.readPage(), watched, isSeen);
  const state = await settled(listed, watched);
  return before && isSame(before, state) ? before : state;
}

async function listedAfter(
  before: ListState | null,
  page: FirstPage,
  watched: Watched,
  isSeen: boolean,
): Promise<ListState> {
  const version = (before?.version ?? 0) + 1;
  const rows = new Map<string, Row>();
  let sliceEnd = Number.NEGATIVE_INFINITY;
  for (const item of page.items) {
    if (performance.now() >= sliceEnd) {
      await yieldToEventLoop();
      sliceEnd = performance.now() + SHARED_TICK_MS;
    }
    const id = `${item.id}`;
    const last = before?.rows.get(id) ?? before?.leaving.get(id);
    const record = latestOf<Known>(last?.record, item);
    rows.set(id, last?.record === record ? last : rowOf(record, version));
  }
  const covers = coverageOf(page, watched);
  const leaving = new Map([...(before?.leaving ?? []), ...(before?.rows ?? [])]);
  for (const [id, { record }] of leaving) {
    // Without a filter, a run that newer changes have pushed off the page is still in the list.
    if (rows.has(id) || !(watched.isFiltered || covers(record))) leaving.delete(id);
  }
  const left = new Map(isSeen ? [] : before?.left);
  for (const id of rows.keys()) left.delete(id);
  return { version, rows, leaving, left, covers };
}

const rowOf = (record: Known, version: number): Row => ({
  record,
  version,
  bytes: estimateHeapBytes(record),
});

function coverageOf({ items, hasNext, last = items.at(-1) }: FirstPage, { isNewestFirst }: Watched) {
  if (!hasNext) return () => true;
  const oldest = isNewestFirst ? timeOf(last ?? {}) : Number.NaN;
  return (record: Known) => timeOf(record) > oldest;
}

const timeOf = ({ updated_at }: Known): number => millisecondsOf(updated_at ?? "");

/**
 * Reads each run in `leaving` and moves it to `left`. A run whose read fails with a transient error stays in `leaving` for the next poll.
 */
async function settled(state: ListState, { readRun }: Watched): Promise<ListState> {
  const { covers, version } = state;
  const leaving = new Map(state.leaving);
  const left = new Map(state.left);
  const leave = (id: string, last: Left) => {
    leaving.delete(id);
    left.delete(id);
    left.set(id, last);
  };
  await Promise.all(
    [...leaving].map(async ([id, row]) => {
      try {
        const record = latestOf(row.record, await readRun(id));
        leave(id, { row: rowOf(record, version), reason: covers(record) ? "LEFT" : "DISPLACED" });
      } catch (error) {
        if (endsPoll(error)) throw error;
        else if (!isTransient(error)) leave(id, { row, reason: "GONE" });
      }
    }),
  );
  for (const id of [...left.keys()].slice(0, -MAX_LEFT_ROWS)) left.delete(id);
  return { ...state, leaving, left };
}

/** Whether an error of reading one run must fail the whole poll. */
const endsPoll = (error: unknown): boolean =>
  !(error instanceof GatewayError) ||
  error.code === "UNAUTHENTICATED" ||
  error.code === "REQUEST_LIMIT_EXCEEDED";

const isSame = (before: ListState, now: ListState): boolean =>
  now.rows.size === before.rows.size &&
  now.leaving.size === before.leaving.size &&
  now.left.size === before.left.size &&
  [...now.rows].every(([id, row]) => before.rows.get(id) === row) &&
  [...now.leaving].every(([id, row]) => before.leaving.get(id) === row) &&
  [...now.left].every(([id, last]) => before.left.get(id) === last);

/**
 * Creates the function that returns the next event of a state for one subscriber; null if the subscriber has received all events of the
 * state.
 */
export function createReporter(isFiltered: boolean, runAt: (id: string) => Update["run"]) {
  const reported = new Map<
    string,
    { readonly version: number; readonly status: RunStatus; readonly isListed: boolean }
  >();
  const report = (id: string, { record, version }: Pick<Row, "record" | "version">, reason: UpdateReason) => {
    const before = reported.get(id)?.status ?? null;
    const isListed = reason === "APPEARED" || reason === "CHANGED";
    reported.delete(id);
    reported.set(id, { version, status: statusOf(record.last_status), isListed });
    return updateOf(runAt(id), record, before, reason);
  };

  return ({ rows, leaving, left }: ListState): Update | null => {
    for (const [id, row] of rows) {
      const last = reported.get(id);
      if (!last?.isListed) return report(id, row, "APPEARED");
      if (last.version !== row.version) return report(id, row, "CHANGED");
    }
    for (const [id, last] of reported) {
      if (rows.has(id) || leaving.has(id)) continue;
      const { row = { record: {}, version: 0 }, reason = "DISPLACED" as const } = left.get(id) ?? {};
      // The reason of a run that left long ago is no longer known.
      if (last.isListed && (isFiltered || left.has(id))) return report(id, row, reason);
      if (last.isListed) reported.set(id, { ...last, isListed: false });
      else if (reported.size > rows.size + MAX_LEFT_ROWS) reported.delete(id);
    }
    return null;
  };
}
