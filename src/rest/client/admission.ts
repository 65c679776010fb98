import { OVERLOADED, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { endedError } from "./failure.ts";
import type { EndpointName } from "./request.ts";
import { createRequestBudget } from "./request-budget.ts";

export interface AdmissionSettings {
  /** Maximum concurrent upstream requests, over all callers. */
  readonly connections: number;
  /** Maximum concurrent upstream requests of one caller. */
  readonly connectionsPerCaller: number;
  /** Maximum waiting upstream requests. Above it new operations are rejected. */
  readonly queue: number;
}

/** Limits of one operation. */
export interface OperationBounds {
  /** Maximum concurrent upstream requests. */
  readonly width: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
}

interface TurnRequest {
  readonly endpoint: EndpointName;
  /** Number of positions in the operation's result that wait for it now. Requests with more of them go first. */
  readonly waiting?: (() => number) | undefined;
  /** Whether it is another attempt of an admitted request, which does not count. */
  readonly isRetry: boolean;
}

/** Admits the upstream requests of one operation. */
export interface Turns {
  /**
   * Resolves when the request may be sent. Rejects when the scope ends first, with `REQUEST_LIMIT_EXCEEDED` when the
   * operation has used up its requests, and with `SERVICE_OVERLOADED` when the queue is full.
   */
  readonly enter: (request: TurnRequest) => Promise<void>;
  /** Must be called once for each admitted request when it completes. */
  readonly leave: () => void;
}

/** A waiting request. */
interface Ticket {
  readonly endpoint: EndpointName;
  readonly isRetry: boolean;
  readonly waiting: () => number;
  readonly admit: (ticket: Ticket) => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A bulkhead limits concurrent requests to `width` and serves waiting ones in turn. Bulkheads form a tree: the root for
 * all callers, one per caller, one per operation. A request is admitted when every bulkhead above it has room.
 */
interface Bulkhead {
  readonly parent: Bulkhead | null;
  readonly width: number;
  running: number;
  /** Number of waiting requests, descendants included. */
  waiting: number;
  /** Child bulkheads that are ready, in the order of their turns; or the tickets of an operation. */
  readonly turns: Set<Ticket | Bulkhead>;
}

const createBulkhead = (parent: Bulkhead | null, width: number): Bulkhead => ({
  parent,
  width,
  running: 0,
  waiting: 0,
  turns: new Set(),
});

const isReady = ({ running, width, turns }: Bulkhead) => running < width && turns.size > 0;

const isTicket = (turn: Ticket | Bulkhead): turn is Ticket => "admit" in turn;

/** Selects the next turn: the first bulkhead, or the ticket for which most positions wait. */
function nextTurn(turns: ReadonlySet<Ticket | Bulkhead>): Ticket | Bulkhead | null {
  let best: Ticket | null = null;
  for (const turn of turns) {
    if (!isTicket(turn)) return turn;
    if (!best || turn.waiting() > best.waiting()) best = turn;
  }
  return best;
}

/** Removes the next request from a bulkhead that is ready. */
function takeNext(bulkhead: Bulkhead): Ticket {
  const turn = nextTurn(bulkhead.turns);
  if (!turn) throw new TypeError("a bulkhead without requests has no next one");
  bulkhead.turns.delete(turn);
  bulkhead.running++;
  bulkhead.waiting--;
  if (isTicket(turn)) return turn;
  const ticket = takeNext(turn);
  // Re-inserted at the end, behind the others.
  if (isReady(turn)) bulkhead.turns.add(turn);
  return ticket;
}

/** Updates the counts of a bulkhead and its ancestors, and adds each to or removes it from its parent's turns. */
function change(bulkhead: Bulkhead, { waiting = 0, running = 0 }): void {
  for (let at: Bulkhead | null = bulkhead; at; at = at.parent) {
    at.waiting += waiting;
    at.running += running;
  }
  for (let at = bulkhead; at.parent; at = at.parent) {
    if (isReady(at)) at.parent.turns.add(at);
    else at.parent.turns.delete(at);
  }
}

const ONE_POSITION = () => 1;

/**
 * Creates the queue for all upstream requests. Own code: p-limit, p-queue and cockatiel are FIFO, so that one caller with
 * many requests starves the others, and they keep the requests of disconnected callers.
 */
export function createAdmission({ connections, connectionsPerCaller, queue }: AdmissionSettings) {
  const root = createBulkhead(null, connections);
  const callers = new Map<string, { readonly bulkhead: Bulkhead; operations: number }>();
  let shed = 0;

  const serve = (): void => {
    while (isReady(root)) {
      const ticket = takeNext(root);
      ticket.admit(ticket);
    }
  };

  let isServing = false;
  /** Serves at the end of this tick, when all requests of the tick are known and can be ordered. */
  const serveSoon = (): void => {
    if (isServing) return;
    isServing = true;
    process.nextTick(() => {
      isServing = false;
      serve();
    });
  };

  const callerOf = (name: string) => {
    const caller = callers.get(name) ?? {
      bulkhead: createBulkhead(root, connectionsPerCaller),
      operations: 0,
    };
    callers.set(name, caller);
    return caller;
  };

  const exceedsShare = (callerKey: string): boolean =>
    root.waiting >= queue &&
    (callers.get(callerKey)?.bulkhead.waiting ?? 0) >= queue / Math.max(1, callers.size);

  /** Whether new operations of the caller are rejected: the queue is full and the caller has its share of it. */
  const isQueueFull = (callerKey: string): boolean => {
    if (!exceedsShare(callerKey)) return false;
    // Some requests may wait only for the end of this tick.
    serve();
    if (!exceedsShare(callerKey)) return false;
    shed++;
    return true;
  };

  /** Opens the queue of an operation. It closes with the scope. */
  const open = (scope: RequestScope, { width, requests }: OperationBounds): Turns => {
    const caller = callerOf(scope.callerKey);
    caller.operations++;
    const budget = createRequestBudget(requests);
    const bulkhead = createBulkhead(caller.bulkhead, width);
    let hasBegun = false;

    /** Rejects waiting tickets. */
    const drop = (isDropped: (ticket: Ticket) => boolean, errorOf: (ticket: Ticket) => Error): void => {
      const dropped = [...bulkhead.turns].filter(isTicket).filter(isDropped);
      for (const ticket of dropped) bulkhead.turns.delete(ticket);
      change(bulkhead, { waiting: -dropped.length });
      for (const ticket of dropped) ticket.reject(errorOf(ticket));
    };

    scope.onEnd(() => {
      drop(
        () => true,
        ({ endpoint }) => endedError(endpoint, scope, false),
      );
      if (--caller.operations === 0) callers.delete(scope.callerKey);
    });

    const admit = ({ isRetry, resolve }: Ticket): void => {
      if (!isRetry) budget.spend();
      resolve();
      if (budget.isSpent()) drop((ticket) => !ticket.isRetry, budget.exceed);
    };

    /** Why a request cannot be queued; null when it can. */
    const rejectionOf = ({ endpoint, isRetry }: TurnRequest): Error | null => {
      if (scope.ended()) return endedError(endpoint, scope, false);
      if (!isRetry && budget.isSpent()) return budget.exceed();
      // Operations that have started are not rejected halfway.
      if (!hasBegun && isQueueFull(scope.callerKey))
        return new UpstreamError("SERVICE_OVERLOADED", OVERLOADED);
      return null;
    };

    return {
      enter: (request) =>
        new Promise((resolve, reject) => {
          const rejection = rejectionOf(request);
          if (rejection) return reject(rejection);
          hasBegun = true;
          const { endpoint, isRetry, waiting = ONE_POSITION } = request;
          bulkhead.turns.add({ endpoint, isRetry, waiting, admit, resolve, reject });
          change(bulkhead, { waiting: 1 });
          serveSoon();
        }),
      leave: () => {
        change(bulkhead, { running: -1 });
        serve();
      },
    };
  };

  return {
    open,
    isQueueFull,
    pressure: () => ({ running: root.running, waiting: root.waiting, shed }),
  };
}
