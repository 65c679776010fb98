import type { Clock } from "../util/clock.ts";
import type { Session } from "../rest/session/session.ts";
import type { Poll } from "./poll-scheduler.ts";
import type { ChargeRetained, Source, StateSource } from "./state-poll.ts";
import { LiveStream } from "./stream.ts";

/** The result of one read that starts at a position. */
export interface Appended<Position, Item> {
  readonly items: readonly Item[];
  /** Estimated memory of the items, in bytes. */
  readonly bytes: number;
  /** The position after the items. */
  readonly position: Position;
  /** Whether more items are already available after that position. */
  readonly hasMore: boolean;
  /** The open response that contains the further items; null or absent if they need another request. */
  readonly rest?: Rest<Appended<Position, Item>> | null;
}

interface Rest<Chunk> {
  /** Reads the next chunk. Rejects when the response fails. */
  readonly next: () => Promise<Chunk>;
  readonly close: () => void;
}

/** A list of a run to which items are only appended, such as its log or its metrics. */
export interface TailSource<Position, Item> extends Source {
  /** Reads the items after a position. Equal reads of one session share a request. */
  readonly read: (session: Session, position: Position) => Promise<Appended<Position, Item>>;
  /** The run to which the list belongs. No item is appended after the run has reached a final state. */
  readonly run: StateSource<object>;
}

/** The items of one read, which several subscribers consume, each at its own speed. */
interface Batch<Item> {
  readonly items: readonly Item[];
  readonly bytes: number;
  readonly latenessMs: number;
  /** Number of subscribers that have not consumed all items. */
  readers: number;
}

/** A subscriber and its position. A subscriber loses no item, however slowly it reads. */
interface Member<Position, Item> {
  position: Position;
  /** The batch that the subscriber consumes; null when it has consumed all items that were read. */
  batch: Batch<Item> | null;
  /** Number of items of the batch that the subscriber has consumed. */
  taken: number;
  latenessMs: number;
  /** Whether more items are already available after the position. */
  hasMore: boolean;
  /** The open response that the subscriber continues to read; null if the poll reads for the subscriber. */
  rest: {
    readonly wait: (member: Member<Position, Item>) => void;
    readonly leave: (member: Member<Position, Item>) => void;
  } | null;
  readonly stream: LiveStream<Item>;
}

/** How long others wait for a subscriber that does not read, in milliseconds. The poll then reads for this subscriber separately. */
const MAX_LAG_MS = 5_000;

/**
 * Creates the poll of an append-only list. Once the run has been read, the poll reads for waiting subscribers, each from its own position.
 * `onWait` is called when a subscriber waits. Its `isDue` is set if items, or the end of the list, are already available.
 */
export function createTailPoll<Position, Item>(
  read: TailSource<Position, Item>["read"],
  chargeRetained: ChargeRetained,
  clock: Clock,
  onWait: (isDue: boolean) => void,
) {
  type Subscriber = Member<Position, Item>;
  const members = new Set<Subscriber>();
  let retainedBytes = 0;
  /** Whether the run has ended; null before the first read of the run. */
  let isRunOver: boolean | null = null;

  const isWaiting = ({ rest, stream }: Subscriber): boolean => !rest && stream.isWaiting();

  /** The subscribers that wait for the poll, grouped by equal positions. */
  const waiting = (): Subscriber[][] => {
    const groups = new Map<string, Subscriber[]>();
    for (const member of [...members].filter(isWaiting)) {
      const key = JSON.stringify(member.position);
      const group = groups.get(key);
      if (group) group.push(member);
      else groups.set(key, [member]);
    }
    return [...groups.values()];
  };

  /** Passes read items to the subscribers that are still connected. `isLast`: whether no items will be appended later. */
  const deliver = (
    group: readonly Subscriber[],
    { items, bytes, position, hasMore, rest = null }: Appended<Position, Item>,
    isLast: boolean,
    latenessMs: number,
  ): void => {
    const present = group.filter((member) => members.has(member));
    if (present.length === 0) return rest?.close();
    const batch = items.length > 0 ? { items, bytes, latenessMs, readers: present.length } : null;
    try {
      keep(batch ? bytes : 0);
    } catch (error) {
      rest?.close();
      keep(-bytes);
      throw error;
    }
    const shared = rest && shareRest(rest, present, isLast);
    for (const member of present) Object.assign(member, { position, hasMore, batch, taken: 0, rest: shared });
    for (const { stream } of present) {
      if (batch) stream.wake();
      if (isLast && !hasMore) stream.end();
    }
  };

  /** Records that a subscriber needs its batch no longer. */
  const release = (member: Subscriber): void => {
    const { batch } = member;
    member.batch = null;
    if (batch && --batch.readers === 0) keep(-batch.bytes);
  };

  const keep = (bytes: number): void => {
    retainedBytes += bytes;
    chargeRetained(retainedBytes);
  };

  /**
   * Lets several subscribers continue to read an open response together. The next chunk is read when all of them have consumed the current
   * chunk, so that each chunk is sent once and only one is in memory. A subscriber that does not read is removed after `MAX_LAG_MS`.
   */
  const shareRest = (
    rest: Rest<Appended<Position, Item>>,
    group: readonly Subscriber[],
    isLast: boolean,
  ): NonNullable<Subscriber["rest"]> => {
    const reading = new Set(group);
    const ready = new Set<Subscriber>();
    let isReading = false;
    const readWhenAllWait = (): void => {
      if (isReading || ready.size < reading.size) return;
      isReading = true;
      cancelTimer();
      // If the response fails, the poll continues from the same position. If the error persists, the poll reports it.
      rest
        .next()
        .then(passOn)
        .catch(() => pollFor([...reading], true));
    };
    const passOn = (appended: Appended<Position, Item>): void => {
      const present = [...reading];
      deliver(present, appended, isLast, 0);
      if (appended.items.length === 0) pollFor(present, appended.hasMore);
    };
    const leave = (member: Subscriber): void => {
      if (!reading.delete(member)) return;
      ready.delete(member);
      member.rest = null;
      if (reading.size > 0) return readWhenAllWait();
      cancelTimer();
      rest.close();
    };
    const cancelTimer = clock.after(MAX_LAG_MS, () => {
      for (const member of group) if (!ready.has(member)) leave(member);
    });
    const wait = (member: Subscriber): void => {
      ready.add(member);
      readWhenAllWait();
    };
    return { wait, leave };
  };

  const pollFor = (group: readonly Subscriber[], isDue: boolean): void => {
    for (const member of group) member.rest = null;
    onWait(isDue);
  };

  const subscribe = (position: Position, onEnd: () => void): LiveStream<Item> => {
    const take = (): Item | null => {
      const item = member.batch?.items[member.taken++];
      member.latenessMs = member.batch?.latenessMs ?? 0;
      if (member.taken >= (member.batch?.items.length ?? 0)) release(member);
      return item ?? null;
    };
    const stream = new LiveStream<Item>({
      take,
      latenessMs: () => member.latenessMs,
      onWait: () => {
        if (member.rest) member.rest.wait(member);
        else onWait(member.hasMore || isRunOver === true);
      },
      onEnd: () => {
        members.delete(member);
        release(member);
        member.rest?.leave(member);
        onEnd();
      },
    });
    const state = { position, batch: null, taken: 0, latenessMs: 0, hasMore: false, rest: null };
    const member: Subscriber = { ...state, stream };
    members.add(member);
    return stream;
  };

  const poll: Poll = {
    isWanted: () => isRunOver !== null && [...members].some(isWaiting),
    isOver: () => isRunOver === true,
    read: async (session, latenessMs) => {
      // After the run has ended, the list is read to its end, because items may have been appended just before.
      const isLast = isRunOver === true;
      const readFor = async (group: Subscriber[]): Promise<boolean> => {
        const [first] = group;
        if (!first) return false;
        const appended = await read(session, first.position);
        deliver(group, appended, isLast, latenessMs());
        // Each read sends one request only, because other polls that have been due longer go first.
        if (appended.items.length === 0 && appended.hasMore) onWait(true);
        return appended.items.length > 0 || appended.hasMore;
      };
      // Groups are read one after the other. Each may receive all items, and their memory must be charged before the next group is read.
      let hasGained = false;
      let failure: { readonly reason: unknown } | null = null;
      for (const group of waiting()) {
        try {
          hasGained = (await readFor(group)) || hasGained;
        } catch (reason) {
          // A failed read for one group does not prevent the reads for the others.
          failure ??= { reason };
        }
      }
      if (failure) throw failure.reason;
      return hasGained;
    },
    streams: () => [...members].map(({ stream }) => stream),
  };
  const setRunOver = (isOver: boolean): void => {
    isRunOver ||= isOver;
  };
  return { ...poll, subscribe, setRunOver };
}
