import { setImmediate } from "node:timers/promises";
import { isTransient, GatewayError } from "../../errors.ts";
import { estimateHeapBytes } from "../../callers/memory-budget.ts";
import { millisecondsOf } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { Slice } from "../../rest/session/pagination.ts";
import { type RunStatus, statusOf } from "../types/status.ts";
import { latestOf, type Update, updateOf, type UpdateReason } from "./events.ts";

/* The state of a polled list of runs, and the events for its subscribers. The state includes runs that have left the list. */

type Known = Partial<RunnableRecord>;

/** A run of the list. Successive states share the row of a run that has not changed. */
interface Row {
  readonly record: Known;
  /** The version of the state in which the run changed last. */
  readonly version: number;
  /** Estimated memory of the record, in bytes. */
  readonly bytes: number;
}
type Rows = ReadonlyMap<string, Row>;

/** A run that has left the list, with the record that was read after it had left. */
interface Left {
  readonly row: Row;
  readonly reason: UpdateReason;
}

export interface ListState {
  readonly version: number;
  readonly rows: Rows;
  /** Runs that have left the page and have not been read since, with their last records. */
  readonly leaving: Rows;
  /** Runs that have left the list, for subscribers that have not received the event. */
  readonly left: ReadonlyMap<string, Left>;
  /** Whether a matching run with this record would be on the page. */
  readonly covers: (record: Known) => boolean;
}

/** The first page of a list, or the matching runs of the page. */
export interface FirstPage extends Pick<Slice<RunnableRecord>, "items" | "hasNext"> {
  /** The last row that was read, whether it matches or not. Absent if the page is full, or if no rows were tested. */
  readonly last?: RunnableRecord | undefined;
}

export interface Watched {
  /** Whether the list contains only some of the runs of the parent. */
  readonly isFiltered: boolean;
  /** Whether the list begins with the newest change. */
  readonly isNewestFirst: boolean;
  readonly readPage: () => Promise<FirstPage>;
  readonly readRun: (id: string) => Promise<Known>;
}

/**
 * Maximum runs that have left the list and are kept for slow subscribers. Also the maximum number of runs outside the page whose status is
 * kept for a subscriber.
 */
const MAX_LEFT_ROWS = 500;

/** Number of rows that are compared without a pause. */
const ROW_STRIDE = 100;

/** Estimated memory of a state, in bytes. */
export function bytesOfList({ rows, leaving, left }: ListState): number {
  let bytes = 0;
  for (const row of [...rows.values(), ...leaving.values()]) bytes += row.bytes;
  for (const { row } of left.values()) bytes += row.bytes;
  return bytes;
}

/** Reads a list again, and the runs that have left it since the last read. Returns the same state if nothing has changed. */
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
  for (const [index, item] of page.items.entries()) {
    if (index % ROW_STRIDE === ROW_STRIDE - 1) await setImmediate();
    const id = `${item.id}`;
    const last = before?.rows.get(id) ?? before?.leaving.get(id);
    const record = latestOf<Known>(last?.record, item);
    rows.set(id, last?.record === record ? last : rowOf(record, version));
  }
  const covers = coverageOf(page, watched);
  const leaving = new Map([...(before?.leaving ?? []), ...(before?.rows ?? [])]);
  for (const [id, { record }] of leaving) {
    // In a list without a filter, a run that is pushed off the page by newer changes has not left the list.
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

/** Reads each run that is leaving. Runs that cannot be read now are read by a later poll. */
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

/** Whether an error concerns more than the run that was read. */
const endsPoll = (error: unknown): boolean =>
  !(error instanceof GatewayError) ||
  error.code === "UNAUTHENTICATED" ||
  error.code === "REQUEST_LIMIT_EXCEEDED";

/** Whether a later state contains no change. */
const isSame = (before: ListState, now: ListState): boolean =>
  now.rows.size === before.rows.size &&
  now.leaving.size === before.leaving.size &&
  [...now.rows].every(([id, row]) => before.rows.get(id) === row) &&
  [...now.leaving].every(([id, row]) => before.leaving.get(id) === row) &&
  [...now.left].every(([id, last]) => before.left.get(id) === last);

/**
 * Returns a function that returns the next event for one subscriber, one run at a time. It returns null when the subscriber has received
 * all events.
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
      // For a slow subscriber, the reason may no longer be known.
      if (last.isListed && (isFiltered || left.has(id))) return report(id, row, reason);
      if (last.isListed) reported.set(id, { ...last, isListed: false });
      else if (reported.size > rows.size + MAX_LEFT_ROWS) reported.delete(id);
    }
    return null;
  };
}
