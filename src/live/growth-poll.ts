import type { Session } from "../rest/session/session.ts";
import type { SharedPoll } from "./state-poll.ts";
import { type LiveStream, openStream, type Reader } from "./stream.ts";

/** What was read behind a position. */
interface Growth<Position, Item> {
  readonly items: readonly Item[];
  /** The position behind the items. */
  readonly position: Position;
  /** Whether there is more behind that position already. */
  readonly hasMore: boolean;
}

/** Something of the service that only grows: a log, a list of metrics. */
export interface GrowthSource<Position, Item> {
  /** Identifies it: subscribers with the same token and key share a poll. */
  readonly key: string;
  /** Reads what is behind a position. Equal reads of one session share a request. */
  readonly read: (session: Session, position: Position) => Promise<Growth<Position, Item>>;
  /** Whether nothing will be added any more. */
  readonly isFinal: (session: Session) => Promise<boolean>;
}

/** A subscriber and its position: it loses nothing, however slowly it reads. */
export interface Follower<Position, Item> {
  position: Position;
  /** Items that were read and not taken yet: those of one read. */
  items: readonly Item[];
  /** Whether there is more behind the position already. */
  hasMore: boolean;
  /** Whether it was final before the last read, so that an empty read is its end. */
  isFinal: boolean;
  reader: Reader | null;
}

/** Creates the poll of something that grows. It reads for waiting subscribers only, each from its own position. */
export function createGrowthPoll<Position, Item>({ read, isFinal }: GrowthSource<Position, Item>) {
  type Member = Follower<Position, Item>;
  const followers = new Set<Member>();
  let isOver = false;
  const waiting = (): Member[] => [...followers].filter(({ reader }) => reader?.isWaiting());

  /** Reads until there is an item or no more. Resolves with whether there is one. */
  const readFor = async (follower: Member, session: Session): Promise<boolean> => {
    do Object.assign(follower, await read(session, follower.position));
    while (follower.items.length === 0 && follower.hasMore);
    const hasGrown = follower.items.length > 0;
    if (hasGrown) follower.reader?.wake();
    else if (follower.isFinal) follower.reader?.end();
    return hasGrown;
  };

  const poll: SharedPoll<Member> = {
    isWanted: () => waiting().length > 0,
    read: async (session) => {
      const members = waiting();
      const gains = await Promise.all(members.map((follower) => readFor(follower, session)));
      if (gains.includes(true)) return true;
      if (!(await isFinal(session))) return false;
      // The end is read after it was final: something may have been added in between.
      for (const follower of followers) follower.isFinal = true;
      return true;
    },
    fail: (error, isLast) => {
      isOver ||= isLast;
      for (const { reader } of followers) reader?.fail(error, isLast);
    },
    join: (follower) => void followers.add(follower),
    leave: (follower) => void followers.delete(follower),
    size: () => followers.size,
    isOver: () => isOver,
  };
  return { poll };
}

export type GrowthPoll<Position, Item> = ReturnType<typeof createGrowthPoll<Position, Item>>;

interface Callbacks {
  /** Called when the subscriber waits. `isBehind`: whether what it waits for is there already. */
  readonly onWait: (isBehind: boolean) => void;
  readonly onEnd: () => void;
}

/** Subscribes to a poll from a position. */
export function readGrowth<Position, Item>(
  { poll }: GrowthPoll<Position, Item>,
  position: Position,
  { onWait, onEnd }: Callbacks,
): LiveStream<Item> {
  const follower: Follower<Position, Item> = {
    position,
    items: [],
    hasMore: false,
    isFinal: false,
    reader: null,
  };
  const { stream, reader } = openStream<Item>({
    take: () => {
      const [item, ...rest] = follower.items;
      follower.items = rest;
      return item ?? null;
    },
    onWait: () => onWait(follower.hasMore),
    onEnd: () => {
      poll.leave(follower);
      onEnd();
    },
  });
  follower.reader = reader;
  poll.join(follower);
  return stream;
}
