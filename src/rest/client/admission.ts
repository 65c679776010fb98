import { OVERLOADED, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { endedError } from "./failure.ts";
import type { EndpointName } from "./request.ts";
import { createRequestBudget } from "./request-budget.ts";

export interface AdmissionSettings {
  /** Upstream requests at a time, over all callers. */
  readonly connections: number;
  /** Upstream requests of one party at a time. */
  readonly connectionsPerCaller: number;
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

interface TurnRequest {
  readonly endpoint: EndpointName;
  /** How many places of the operation's result wait for it now: the more, the sooner it goes. */
  readonly waiting?: (() => number) | undefined;
  /** Whether it was admitted before: it counts no more then. */
  readonly isRetry: boolean;
}

/** The turns of one operation's upstream requests. */
export interface Turns {
  /**
   * Resolves when it is the request's turn. Rejects when the scope ends before, with `REQUEST_LIMIT_EXCEEDED` when the
   * operation had its requests, and with `SERVICE_OVERLOADED` when too much waits.
   */
  readonly enter: (request: TurnRequest) => Promise<void>;
  /** Called once for each request that was admitted, when it is over. */
  readonly leave: () => void;
}

/** A request that waits for its turn. */
interface Ticket {
  readonly endpoint: EndpointName;
  readonly isRetry: boolean;
  readonly waiting: () => number;
  readonly admit: (ticket: Ticket) => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A bulkhead lets at most `width` requests through at a time and serves what waits behind it by turns. Bulkheads form a
 * tree: all callers, one party, one operation; a request goes ahead when every bulkhead above it has room.
 */
interface Bulkhead {
  readonly parent: Bulkhead | null;
  readonly width: number;
  running: number;
  /** Requests that wait behind it and those below. */
  waiting: number;
  /** Bulkheads that have something waiting and room for it, in the order of their turns; or tickets of one operation. */
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

/** The next turn: of bulkheads the one in front, of an operation's tickets the one that most places wait for. */
function nextTurn(turns: ReadonlySet<Ticket | Bulkhead>): Ticket | Bulkhead | null {
  let best: Ticket | null = null;
  for (const turn of turns) {
    if (!isTicket(turn)) return turn;
    if (!best || turn.waiting() > best.waiting()) best = turn;
  }
  return best;
}

/** Takes the next request from behind a bulkhead that is ready. */
function takeNext(bulkhead: Bulkhead): Ticket {
  const turn = nextTurn(bulkhead.turns);
  if (!turn) throw new TypeError("a bulkhead without requests has no next one");
  bulkhead.turns.delete(turn);
  bulkhead.running++;
  bulkhead.waiting--;
  if (isTicket(turn)) return turn;
  const ticket = takeNext(turn);
  // To the end: the others have their turn before.
  if (isReady(turn)) bulkhead.turns.add(turn);
  return ticket;
}

/** Changes the counts of a bulkhead and of those above it, and puts each among its parent's turns where it is ready. */
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

const ONE_PLACE = () => 1;

/**
 * The one queue in front of the service. Own code: the queues of p-limit, p-queue and cockatiel serve in the order of
 * arrival, so that one caller with many requests starves the others, and keep the requests of callers who have left.
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
  /** Serves at the end of this tick: what is requested together is known then, and what most wait for goes first. */
  const serveSoon = (): void => {
    if (isServing) return;
    isServing = true;
    process.nextTick(() => {
      isServing = false;
      serve();
    });
  };

  const partyOf = (name: string) => {
    const callerKey = callers.get(name) ?? {
      bulkhead: createBulkhead(root, connectionsPerCaller),
      operations: 0,
    };
    callers.set(name, callerKey);
    return callerKey;
  };

  const hasItsShare = (callerKey: string): boolean =>
    root.waiting >= queue &&
    (callers.get(callerKey)?.bulkhead.waiting ?? 0) >= queue / Math.max(1, callers.size);

  /** Whether a new operation is refused: too much waits already, and its party has its share of that. */
  const refuses = (callerKey: string): boolean => {
    if (!hasItsShare(callerKey)) return false;
    // Some may wait only for the end of this tick.
    serve();
    if (!hasItsShare(callerKey)) return false;
    shed++;
    return true;
  };

  /** Opens the turns of an operation, which close with its scope. */
  const open = (scope: RequestScope, { width, requests }: OperationBounds): Turns => {
    const callerKey = partyOf(scope.callerKey);
    callerKey.operations++;
    const budget = createRequestBudget(requests);
    const bulkhead = createBulkhead(callerKey.bulkhead, width);
    let hasBegun = false;

    /** Rejects the tickets that wait. */
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
      if (--callerKey.operations === 0) callers.delete(scope.callerKey);
    });

    const admit = ({ isRetry, resolve }: Ticket): void => {
      if (!isRetry) budget.spend();
      resolve();
      if (budget.isSpent()) drop((ticket) => !ticket.isRetry, budget.refuse);
    };

    /** Why a request cannot even wait; null when it can. */
    const refusalOf = ({ endpoint, isRetry }: TurnRequest): Error | null => {
      if (scope.ended()) return endedError(endpoint, scope, false);
      if (!isRetry && budget.isSpent()) return budget.refuse();
      // An operation that has begun is carried on.
      if (!hasBegun && refuses(scope.callerKey)) return new UpstreamError("SERVICE_OVERLOADED", OVERLOADED);
      return null;
    };

    return {
      enter: (request) =>
        new Promise((resolve, reject) => {
          const refusal = refusalOf(request);
          if (refusal) return reject(refusal);
          hasBegun = true;
          const { endpoint, isRetry, waiting = ONE_PLACE } = request;
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
    refuses,
    pressure: () => ({ running: root.running, waiting: root.waiting, shed }),
  };
}
