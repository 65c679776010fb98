import { UpstreamError } from "./errors.ts";
import { endedError, type RequestScope } from "./scope.ts";

export interface AdmissionSettings {
  /** Upstream requests at a time, over all callers. */
  readonly connections: number;
  /** Upstream requests of one party at a time. */
  readonly connectionsPerParty: number;
  /** Upstream requests that may wait before new operations are refused. */
  readonly queue: number;
}

/** An upstream request that waits for its turn. */
interface Ticket {
  readonly admit: () => void;
}

/**
 * A lane lets at most `width` requests through at a time and serves what waits in it by turns. Lanes form a tree: all
 * callers, one party, one operation; a request goes ahead when every lane above it has room.
 */
interface Lane {
  readonly parent: Lane | null;
  readonly width: number;
  running: number;
  /** Requests that wait here and in the lanes below. */
  waiting: number;
  /** In the order of their turns: tickets of an operation, or lanes that have something waiting and room for it. */
  readonly turns: Set<Ticket | Lane>;
}

/** The turns of one operation's upstream requests. */
export interface OperationLane {
  /**
   * Resolves when it is the turn of a request of this operation; the function that is given must be called when the
   * request is over. Rejects when the scope ends before, and with `SERVICE_OVERLOADED` when too much waits already.
   */
  readonly enter: (row: { readonly method: string; readonly path: string }) => Promise<() => void>;
}

const isReady = ({ running, width, turns }: Lane) => running < width && turns.size > 0;

/**
 * The one queue in front of the service. Own code: the queues of p-limit, p-queue and cockatiel serve in the order of
 * arrival, so that one caller with many requests starves the others, and keep the requests of callers who have left.
 */
export function createAdmission({ connections, connectionsPerParty, queue }: AdmissionSettings) {
  const root: Lane = { parent: null, width: connections, running: 0, waiting: 0, turns: new Set() };
  const parties = new Map<string, Lane & { operations: number }>();
  let shed = 0;

  /** Takes the next request out of a lane that is ready. */
  const next = (lane: Lane): Ticket => {
    const [first] = lane.turns;
    if (!first) throw new TypeError("a lane without requests has no next one");
    lane.turns.delete(first);
    lane.running++;
    lane.waiting--;
    if ("admit" in first) return first;
    const ticket = next(first);
    // To the end: the others have their turn before.
    if (isReady(first)) lane.turns.add(first);
    return ticket;
  };

  const serve = (): void => {
    while (isReady(root)) next(root).admit();
  };

  /** Puts a lane, and those above it, among the turns of their parents where they are ready, and out where they are not. */
  const place = (lane: Lane): void => {
    for (let at = lane; at.parent; at = at.parent) {
      const { turns } = at.parent;
      if (isReady(at)) turns.add(at);
      else turns.delete(at);
    }
  };

  const add = (lane: Lane, change: { readonly waiting?: number; readonly running?: number }): void => {
    for (let at: Lane | null = lane; at; at = at.parent) {
      at.waiting += change.waiting ?? 0;
      at.running += change.running ?? 0;
    }
    place(lane);
  };

  const laneOf = (party: string) => {
    const lane = parties.get(party) ?? {
      parent: root,
      width: connectionsPerParty,
      running: 0,
      waiting: 0,
      turns: new Set(),
      operations: 0,
    };
    parties.set(party, lane);
    return lane;
  };

  /** Whether a new operation is refused: too much waits already, and its party has its share of that. */
  const refuses = (party: string): boolean => {
    const own = parties.get(party)?.waiting ?? 0;
    const isRefused = root.waiting >= queue && own >= queue / Math.max(1, parties.size);
    if (isRefused) shed++;
    return isRefused;
  };

  /** Opens the lane of an operation, which closes with its scope. */
  const open = (scope: RequestScope, width: number): OperationLane => {
    const partyLane = laneOf(scope.party);
    partyLane.operations++;
    const tickets = new Map<Ticket, () => void>();
    const lane: Lane = { parent: partyLane, width, running: 0, waiting: 0, turns: new Set() };
    let hasBegun = false;
    scope.onEnd(() => {
      lane.turns.clear();
      add(lane, { waiting: -lane.waiting });
      for (const drop of tickets.values()) drop();
      tickets.clear();
      if (--partyLane.operations === 0) parties.delete(scope.party);
    });

    return {
      enter: (row) =>
        new Promise((resolve, reject) => {
          if (scope.ended()) return reject(endedError(row, scope, false));
          // What has begun is carried on.
          if (!hasBegun && refuses(scope.party)) {
            return reject(
              new UpstreamError(
                "SERVICE_OVERLOADED",
                "The gateway has more to do than it can; try again later.",
              ),
            );
          }
          hasBegun = true;
          const ticket: Ticket = {
            admit: () => {
              tickets.delete(ticket);
              let isOver = false;
              resolve(() => {
                if (isOver) return;
                isOver = true;
                add(lane, { running: -1 });
                serve();
              });
            },
          };
          tickets.set(ticket, () => reject(endedError(row, scope, false)));
          lane.turns.add(ticket);
          add(lane, { waiting: 1 });
          serve();
        }),
    };
  };

  return {
    open,
    refuses,
    pressure: () => ({ running: root.running, waiting: root.waiting, shed }),
  };
}
