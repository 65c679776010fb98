import type { Session } from "../rest/session/session.ts";
import type { Clock } from "../clock.ts";
import { LiveStream } from "./stream.ts";
import type { Poll } from "./ticker.ts";

/** What was read behind a position. */
export interface Appended<Position, Item> {
  readonly items: readonly Item[];
  /** The position behind the items. */
  readonly position: Position;
  /** Whether there is more behind that position already. */
  readonly hasMore: boolean;
  /** The open response in which that follows; null or absent when it takes another request. */
  readonly rest?: Rest<Appended<Position, Item>> | null;
}

interface Rest<Part> {
  /** Reads the next part. Rejects when the response fails. */
  readonly next: () => Promise<Part>;
  /** Ends the response. */
  readonly close: () => void;
}

/** Something of the service to which items are only appended: a log, a list of metrics. */
export interface AppendSource<Position, Item> {
  /** Identifies it: subscribers with the same token and key share a poll. */
  readonly key: string;
  /** Reads what is behind a position. Equal reads of one session share a request. */
  readonly read: (session: Session, position: Position) => Promise<Appended<Position, Item>>;
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
  rest: {
    readonly wait: (member: Member<Position, Item>) => void;
    readonly leave: (member: Member<Position, Item>) => void;
  } | null;
  readonly stream: LiveStream<Item>;
  /** Asks for a read by the poll. `isBehind`: whether what it waits for is there already. */
  readonly onWait: (isBehind: boolean) => void;
}

/** How long the others wait for a subscriber that takes no part, in milliseconds. It then reads on by itself. */
const PATIENCE_MS = 5_000;

/** Creates the poll of something that is appended to. It reads for waiting subscribers, each from its own position. */
export function createAppendPoll<Position, Item>(
  { read, isFinal }: AppendSource<Position, Item>,
  clock: Clock,
) {
  type Subscriber = Member<Position, Item>;
  const members = new Set<Subscriber>();
  /** Whether nothing will be added any more, when that was last read; null before. */
  let wasFinal: boolean | null = null;

  /** The subscribers that wait for the poll, by their positions. */
  const waiting = (): Map<Position, Subscriber[]> => {
    const groups = new Map<Position, Subscriber[]>();
    for (const member of members) {
      if (member.rest || !member.stream.isWaiting()) continue;
      groups.set(member.position, [...(groups.get(member.position) ?? []), member]);
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
    for (const { stream } of present) {
      if (items.length > 0) stream.wake();
      if (isLast && !hasMore) stream.end();
    }
  };

  /**
   * Lets several subscribers read on together in an open response. Its next part is read when all of them have taken the
   * last one, so that it is sent once and one part of it is held. Nobody holds it open for long without reading.
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
      // The poll reads on from there, and reports what keeps failing.
      rest.next().then(passOn, () => pollFor([...reading], true));
    };
    const passOn = (appended: Appended<Position, Item>): void => {
      const present = [...reading];
      deliver(present, appended, isLast);
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
    const cancelTimer = clock.after(PATIENCE_MS, () => {
      for (const member of group) if (!ready.has(member)) leave(member);
    });
    const wait = (member: Subscriber): void => {
      ready.add(member);
      readWhenAllWait();
    };
    return { wait, leave };
  };

  const pollFor = (group: readonly Subscriber[], isBehind: boolean): void => {
    for (const member of group) {
      member.rest = null;
      member.onWait(isBehind);
    }
  };

  /** Subscribes from a position. `onWait` is called when the subscriber waits for a read of the poll. */
  const subscribe = (
    position: Position,
    onWait: Subscriber["onWait"],
    onEnd: () => void,
  ): LiveStream<Item> => {
    const stream = new LiveStream<Item>({
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
        members.delete(member);
        member.rest?.leave(member);
        onEnd();
      },
    });
    const member: Subscriber = { position, items: [], hasMore: false, rest: null, stream, onWait };
    members.add(member);
    return stream;
  };

  const poll: Poll = {
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
    streams: () => [...members].map(({ stream }) => stream),
  };
  return { ...poll, subscribe };
}
