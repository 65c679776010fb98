import { isDeepStrictEqual } from "node:util";
import { isPassing, Failure, isFailure } from "../../errors.ts";
import { millisecondsOf } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { Slice } from "../../rest/session/pages.ts";
import { latestOf, type Update, updateOf, type UpdateReason } from "./events.ts";

/* What a poll of a list of runs knows, and what it reports to a subscriber: also which runs have left the list. */

type Known = Partial<RunnableRecord>;
type Records = ReadonlyMap<string, Known>;

/** A run that has left the list, as it was read afterwards. */
type Left = { readonly record: Known; readonly reason: UpdateReason };

export interface ListState {
  readonly records: Records;
  /** Runs that were on the page and have not been read since, as they were then. */
  readonly leaving: Records;
  /** Runs that have left, for subscribers that have not heard of it. */
  readonly left: ReadonlyMap<string, Left>;
  /** Whether a matching run with this record would be on the page. */
  readonly covers: (record: Known) => boolean;
  /** Whether there were too few requests to read those that are leaving. */
  readonly isShort: boolean;
}

/** The first page of a list, or what is found in it. */
export interface FirstPage extends Pick<Slice<RunnableRecord>, "items" | "hasNext"> {
  /** The last of the rows that were read, if that is not the last item. */
  readonly last?: RunnableRecord | undefined;
}

export interface Watched {
  /** Whether not all runs of the parent are in the list. */
  readonly isFiltered: boolean;
  /** Whether the list begins with the newest change. */
  readonly isNewestFirst: boolean;
  readonly readPage: () => Promise<FirstPage>;
  readonly readRun: (id: string) => Promise<Known>;
}

/** How many runs are remembered that left, and how many a subscriber remembers besides those of the page. */
const MAX_REMEMBERED = 500;

/** Reads a list once more, and the runs that have left it since. Returns the same state when nothing has changed. */
export async function readList(watched: Watched, before: ListState | null): Promise<ListState> {
  // With few requests the list and those that leave it take turns.
  const listed = before?.isShort ? before : listedAfter(before, await watched.readPage(), watched);
  const state = await settled(listed, watched);
  return before && isSame(before, state) ? before : state;
}

function listedAfter(before: ListState | null, page: FirstPage, watched: Watched): ListState {
  const records = new Map(
    page.items.map((item) => [`${item.id}`, latestOf<Known>(before?.records.get(`${item.id}`), item)]),
  );
  const covers = coverageOf(page, watched);
  const leaving = new Map([...(before?.leaving ?? []), ...(before?.records ?? [])]);
  for (const [id, record] of leaving) {
    // Without a filter, what newer changes push off the page has not left the list.
    if (records.has(id) || !(watched.isFiltered || covers(record))) leaving.delete(id);
  }
  const left = new Map([...(before?.left ?? [])].filter(([id]) => !records.has(id)));
  return { records, leaving, left, covers, isShort: false };
}

function coverageOf({ items, hasNext, last = items.at(-1) }: FirstPage, { isNewestFirst }: Watched) {
  if (!hasNext) return () => true;
  const oldest = isNewestFirst ? timeOf(last ?? {}) : Number.NaN;
  return (record: Known) => timeOf(record) > oldest;
}

const timeOf = ({ updated_at }: Known): number => millisecondsOf(updated_at ?? "");

/** Reads the runs that are leaving, each once. Those that cannot be read for now are read by a later poll. */
async function settled(state: ListState, { readRun }: Watched): Promise<ListState> {
  const { covers } = state;
  const leaving = new Map(state.leaving);
  const left = new Map(state.left);
  let isShort = false;
  const leave = (id: string, last: Left) => {
    leaving.delete(id);
    left.delete(id);
    left.set(id, last);
  };
  await Promise.all(
    [...leaving].map(async ([id, known]) => {
      try {
        const record = latestOf(known, await readRun(id));
        leave(id, { record, reason: covers(record) ? "LEFT" : "DISPLACED" });
      } catch (error) {
        if (isFailure(error, "REQUEST_LIMIT_EXCEEDED")) isShort = true;
        else if (endsPoll(error)) throw error;
        else if (!isPassing(error)) leave(id, { record: known, reason: "GONE" });
      }
    }),
  );
  for (const id of [...left.keys()].slice(0, -MAX_REMEMBERED)) left.delete(id);
  return { ...state, leaving, left, isShort };
}

/** Whether an error concerns more than the run that was read. */
const endsPoll = (error: unknown): boolean => !(error instanceof Failure) || error.code === "UNAUTHENTICATED";

/** Records that are equal are the same: none is looked into. */
const isSame = (one: ListState, other: ListState): boolean =>
  isDeepStrictEqual({ ...one, covers: null }, { ...other, covers: null });

/** Tells one subscriber what it has not heard: one run at a time, null when it has heard all. */
export function createTeller(isFiltered: boolean, runAt: (id: string) => Update["run"]) {
  const told = new Map<string, { readonly record: Known; readonly isListed: boolean }>();
  const tell = (id: string, record: Known, reason: UpdateReason): Update => {
    const before = told.get(id)?.record ?? null;
    told.delete(id);
    told.set(id, { record, isListed: reason === "APPEARED" || reason === "CHANGED" });
    return updateOf(runAt(id), record, before, reason);
  };

  return ({ records, leaving, left }: ListState): Update | null => {
    for (const [id, record] of records) {
      const last = told.get(id);
      if (!last?.isListed) return tell(id, record, "APPEARED");
      if (latestOf(last.record, record) !== last.record) return tell(id, record, "CHANGED");
    }
    for (const [id, { record, isListed }] of told) {
      if (records.has(id) || leaving.has(id)) continue;
      // Of a slow subscriber it may be forgotten how it left.
      if (isListed && (isFiltered || left.has(id))) {
        const { record: now, reason } = left.get(id) ?? { record, reason: "DISPLACED" as const };
        return tell(id, now, reason);
      }
      if (isListed) told.set(id, { record, isListed: false });
      else if (told.size > records.size + MAX_REMEMBERED) told.delete(id);
    }
    return null;
  };
}
