import { OVERLOADED, UpstreamError } from "../../errors.ts";
import { createRequestBudget } from "./request-budget.ts";
import { endedError, type RequestScope } from "../../request-scope.ts";

export interface AdmissionSettings {
  /** Upstream requests at a time, over all callers. */
  readonly connections: number;
  /** Upstream requests of one party at a time. */
  readonly connectionsPerParty: number;
  /** Upstream requests that may wait before new operations are refused. */
  readonly queue: number;
}

/** What one operation may ask of the service. */
export interface OperationBounds {
  /** Upstream requests at a time. */
  readonly width: number;
  /** Upstream requests in all, retries not counted. */
  readonly requests: number;
}

/** An upstream request that waits for its turn. */
interface Ticket {
  readonly admit: () => void;
  /** How many places of the operation's answer wait for it now. */
  readonly waiting: () => number;
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
  /** Lanes that have something waiting and room for it, in the order of their turns; or tickets of one operation. */
  readonly turns: Set<Ticket | Lane>;
}

/** The turns of one operation's upstream requests. */
export interface OperationLane {
  /**
   * A ticket for one upstream request, used again for its retries. It resolves when it is the request's turn; the
   * function that is given must be called when the request is over. It rejects when the scope ends before, with
   * `REQUEST_LIMIT_EXCEEDED` when the operation had its requests, and with `SERVICE_OVERLOADED` when too much waits.
   */
  readonly ticketFor: (row: AskedRow, waiting?: () => number) => () => Promise<() => void>;
}

interface AskedRow {
  readonly method: string;
  readonly path: string;
}

/** The next turn: of lanes the one in front, of an operation's tickets the one that most places wait for. */
function nextTurn(turns: ReadonlySet<Ticket | Lane>): Ticket | Lane | null {
  let best: Ticket | null = null;
  for (const turn of turns) {
    if (!("admit" in turn)) return turn;
    if (!best || turn.waiting() > best.waiting()) best = turn;
  }
  return best;
}

/** How a ticket leaves its lane before its turn. */
interface Drop {
  readonly row: AskedRow;
  readonly isRetry: boolean;
  readonly reject: (fault: Error) => void;
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
    const first = nextTurn(lane.turns);
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

  let isServing = false;
  /** Serves at the end of this tick: what is asked together is known then, and what most wait for goes first. */
  const serveSoon = (): void => {
    if (isServing) return;
    isServing = true;
    process.nextTick(() => {
      isServing = false;
      serve();
    });
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
    const hasItsShare = () =>
      root.waiting >= queue && (parties.get(party)?.waiting ?? 0) >= queue / Math.max(1, parties.size);
    if (!hasItsShare()) return false;
    // Some may wait only for the end of this tick.
    serve();
    if (!hasItsShare()) return false;
    shed++;
    return true;
  };

  /** Opens the lane of an operation, which closes with its scope. */
  const open = (scope: RequestScope, { width, requests }: OperationBounds): OperationLane => {
    const partyLane = laneOf(scope.party);
    partyLane.operations++;
    const budget = createRequestBudget(requests);
    /** What waits. */
    const tickets = new Map<Ticket, Drop>();
    const lane: Lane = { parent: partyLane, width, running: 0, waiting: 0, turns: new Set() };
    let hasBegun = false;
    scope.onEnd(() => {
      lane.turns.clear();
      add(lane, { waiting: -lane.waiting });
      for (const { row, reject } of tickets.values()) reject(endedError(row, scope, false));
      tickets.clear();
      if (--partyLane.operations === 0) parties.delete(scope.party);
    });

    /** What has begun is carried on. */
    const isRefused = () => !hasBegun && refuses(scope.party);

    const refuseNewRequests = (): void => {
      for (const [ticket, { isRetry, reject }] of tickets) {
        if (isRetry) continue;
        tickets.delete(ticket);
        lane.turns.delete(ticket);
        add(lane, { waiting: -1 });
        reject(budget.refuse());
      }
    };

    const enter = (row: AskedRow, waiting: () => number, isRetry: boolean): Promise<() => void> =>
      new Promise((resolve, reject) => {
        if (scope.ended()) return reject(endedError(row, scope, false));
        if (!isRetry && budget.isSpent()) return reject(budget.refuse());
        if (isRefused()) {
          return reject(new UpstreamError("SERVICE_OVERLOADED", OVERLOADED));
        }
        hasBegun = true;
        const ticket: Ticket = {
          waiting,
          admit: () => {
            tickets.delete(ticket);
            if (!isRetry) budget.spend();
            let isOver = false;
            resolve(() => {
              if (isOver) return;
              isOver = true;
              add(lane, { running: -1 });
              serve();
            });
            if (budget.isSpent()) refuseNewRequests();
          },
        };
        tickets.set(ticket, { row, isRetry, reject });
        lane.turns.add(ticket);
        add(lane, { waiting: 1 });
        serveSoon();
      });

    return {
      ticketFor: (row, waiting = () => 1) => {
        let isRetry = false;
        return () => {
          const turn = enter(row, waiting, isRetry);
          isRetry = true;
          return turn;
        };
      },
    };
  };

  return {
    open,
    refuses,
    pressure: () => ({ running: root.running, waiting: root.waiting, shed }),
  };
}
