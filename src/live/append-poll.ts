import type { Session } from "../rest/session/session.ts";
import type { Clock } from "../clock.ts";
import { type Rest, SharedRest } from "./shared-rest.ts";
import type { SharedPoll } from "./state-poll.ts";
import { type LiveStream, openStream, type Reader } from "./stream.ts";

/** What was read behind a position. */
export interface Appended<Position, Item> {
  readonly items: readonly Item[];
  /** The position behind the items. */
  readonly position: Position;
  /** Whether there is more behind that position already. */
  readonly hasMore: boolean;
  /** The open response, in which that follows; null when it takes another request. */
  readonly rest: Rest<Appended<Position, Item>> | null;
}

/** Something of the service to which items are only appended: a log, a list of metrics. */
export interface AppendSource<Position, Item> {
  /** Identifies it: subscribers with the same token and key share a poll. */
  readonly key: string;
  /** Reads what is behind a position. Equal reads of one session share a request. */
  readonly read: (session: Session, position: Position) => Promise<Appended<Position, Item>>;
  /** Whether nothing will be added any more. */
  readonly isFinal: (session: Session) => Promise<boolean>;
}

/** A subscriber and its position: it loses nothing, however slowly it reads. */
interface Member<Position, Item> {
  position: Position;
  /** Items that were read and not taken yet: those of one read. */
  items: readonly Item[];
  /** Whether there is more behind the position already. */
  hasMore: boolean;
  /** The open response from which it reads on; null when it is read by the poll. */
  rest: SharedRest<Member<Position, Item>, Appended<Position, Item>> | null;
  reader: Reader | null;
  /** Asks for a read by the poll. `isBehind`: whether what it waits for is there already. */
  readonly onWait: (isBehind: boolean) => void;
}

/** Creates the poll of something that is appended to. It reads for waiting subscribers, each from its own position. */
export function createAppendPoll<Position, Item>(
  { read, isFinal }: AppendSource<Position, Item>,
  clock: Clock,
) {
  type Subscriber = Member<Position, Item>;
  const members = new Set<Subscriber>();
  /** Whether nothing will be added any more, when that was last read; null before. */
  let wasFinal: boolean | null = null;
  let isOver = false;

  /** The subscribers that wait for the poll, by their positions. */
  const waiting = (): Map<Position, Subscriber[]> => {
    const groups = new Map<Position, Subscriber[]>();
    for (const member of members) {
      if (member.rest || !member.reader?.isWaiting()) continue;
      const group = groups.get(member.position);
      if (group) group.push(member);
      else groups.set(member.position, [member]);
    }
    return groups;
  };

  /** Passes what was read to those who are still there. `isLast`: whether its end is the end of all. */
  const deliver = (
    group: readonly Subscriber[],
    appended: Appended<Position, Item>,
    isLast: boolean,
  ): void => {
    const { items, position, hasMore, rest } = appended;
    const present = group.filter((member) => members.has(member));
    if (present.length === 0) rest?.close();
    const shared = present.length > 0 && rest ? shareRest(rest, present, isLast) : null;
    for (const member of present) Object.assign(member, { items, position, hasMore, rest: shared });
    for (const { reader } of present) {
      if (items.length > 0) reader?.wake();
      if (isLast && !hasMore) reader?.end();
    }
  };

  const shareRest = (rest: Rest<Appended<Position, Item>>, group: readonly Subscriber[], isLast: boolean) =>
    new SharedRest<Subscriber, Appended<Position, Item>>(clock, rest, group, {
      onPart: (present, appended) => {
        deliver(present, appended, isLast);
        if (appended.items.length === 0) pollFor(present, appended.hasMore);
      },
      // The poll reads on from there, and reports what keeps failing.
      onFailure: (present) => pollFor(present, true),
      onLeft: (member) => {
        member.rest = null;
      },
    });

  const pollFor = (group: readonly Subscriber[], isBehind: boolean): void => {
    for (const member of group) {
      member.rest = null;
      member.onWait(isBehind);
    }
  };

  const poll: SharedPoll<Subscriber> = {
    isWanted: () => waiting().size > 0,
    read: async (session) => {
      // What is read after the end is known is read to its end: something may have been added before.
      const isLast = (wasFinal ??= await isFinal(session));
      const gains = await Promise.all(
        [...waiting()].map(async ([position, group]) => {
          let appended = await read(session, position);
          while (appended.items.length === 0 && appended.hasMore)
            appended = await read(session, appended.position);
          deliver(group, appended, isLast);
          return appended.items.length > 0;
        }),
      );
      if (gains.includes(true)) return true;
      wasFinal = await isFinal(session);
      return wasFinal;
    },
    fail: (error, isLast) => {
      isOver ||= isLast;
      for (const { reader } of members) reader?.fail(error, isLast);
    },
    join: (member) => void members.add(member),
    leave: (member) => {
      members.delete(member);
      member.rest?.leave(member);
    },
    size: () => members.size,
    isOver: () => isOver,
  };
  return { poll };
}

export type AppendPoll<Position, Item> = ReturnType<typeof createAppendPoll<Position, Item>>;

interface Callbacks {
  /** Called when the subscriber waits for a read. `isBehind`: whether what it waits for is there already. */
  readonly onWait: (isBehind: boolean) => void;
  readonly onEnd: () => void;
}

/** Subscribes to a poll from a position. */
export function readAppended<Position, Item>(
  { poll }: AppendPoll<Position, Item>,
  position: Position,
  { onWait, onEnd }: Callbacks,
): LiveStream<Item> {
  const member: Member<Position, Item> = {
    position,
    items: [],
    hasMore: false,
    rest: null,
    reader: null,
    onWait,
  };
  const { stream, reader } = openStream<Item>({
    take: () => {
      const [item, ...rest] = member.items;
      member.items = rest;
      return item ?? null;
    },
    onWait: () => {
      if (member.rest) member.rest.wait(member);
      else onWait(member.hasMore);
    },
    onEnd: () => {
      poll.leave(member);
      onEnd();
    },
  });
  member.reader = reader;
  poll.join(member);
  return stream;
}
