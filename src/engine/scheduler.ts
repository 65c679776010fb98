import type { Caller, CallerRegistry, PerCaller } from "../callers/callers.ts";
import { CallerQueues, FairQueue } from "../callers/fair-queue.ts";
import { LinkedList } from "../util/linked-list.ts";

/*
 * Time slices for work that could block the event loop. Such work checks whether the slice is over and, if so, waits
 * for the next one, so that sockets, timers and probes are served in between. All gateways of a process share one
 * slice, because they block the same loop. The callers of each gateway take turns among themselves.
 *
 * Own code: packages that yield (p-event-loop and similar) yield on every call, or are not fair.
 */

/** How long the event loop may be blocked, in milliseconds. */
const SLICE_MS = 3;

/** How long one queue is served: to give the turn to another one takes as long as to parse a short response. */
const QUEUE_SLICE_MS = 0.25;

/** When the current slice ends; null until the first check in this turn of the event loop. */
let sliceEnd: number | null = null;

export function shouldYield(): boolean {
  const now = performance.now();
  if (sliceEnd !== null) return now >= sliceEnd;
  sliceEnd = now + SLICE_MS;
  setImmediate(() => void (sliceEnd = null));
  return false;
}

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves in a later turn of the event loop. Of those that wait, each continues in a turn of its own. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTurn = lastTurn.then(() => new Promise((resolve) => void setImmediate(resolve))));

type Task = () => void;

let due: Task[] = [];

/**
 * Does the work after the sockets that are ready in this turn of the event loop have been read, together with all other
 * such work. Many pieces of the same work in a row cost much less than the same pieces between other work: code and
 * data stay in the processor's caches, and the process at the other end of the connections wakes up once. If one piece
 * throws, the rest is still done.
 */
export function afterPendingIo(task: Task): void {
  if (due.push(task) > 1) return;
  setImmediate(() => {
    const all = due;
    due = [];
    for (const each of all) {
      try {
        each();
      } catch (error) {
        setImmediate(() => {
          throw error;
        });
      }
    }
  });
}

/**
 * The turns of a gateway. Its callers take turns, a moment each, and so do the queues of a caller: neither a long
 * queue nor a caller with many queues delays the others.
 */
export class Scheduler {
  readonly #queues = new FairQueue<TaskQueue>(null);
  readonly #callerQueues: CallerQueues<TaskQueue>;
  /** What belongs to no queue of a caller's operations: its responses, and operations that begin. */
  readonly #own: PerCaller<TaskQueue>;
  #isServing = false;

  constructor(callers: CallerRegistry) {
    this.#own = callers.perCaller((caller) => this.queueOf(caller));
    this.#callerQueues = new CallerQueues(callers, this.#queues, this.#queues);
  }

  /** Does the work when it is the caller's turn: now, or in a later time slice. */
  readonly run = (caller: Caller, task: Task): void => {
    if (!this.isWaiting() && !shouldYield()) task();
    else this.#own.of(caller).add(task);
  };

  queueOf(caller: Caller): TaskQueue {
    return new TaskQueue(this, caller);
  }

  isWaiting(): boolean {
    return this.#queues.isReady();
  }

  /** The line of the queues of a caller, in which work waits from now on. */
  callerQueueOf(caller: Caller): FairQueue<TaskQueue> {
    if (!this.isWaiting()) this.#serveLater();
    return this.#callerQueues.of(caller);
  }

  #serveLater(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    setImmediate(() => this.#serve());
  }

  /**
   * Serves a time slice. What follows from its first piece of work is done before the rest: the caller who has spent the least need
   * not wait for another slice.
   */
  #serve(): void {
    void Promise.resolve().then(() => process.nextTick(() => this.#serveRest()));
    // Begins the slice. One queue is served even if another gateway has used it up, which may be so every time.
    shouldYield();
    if (this.isWaiting()) this.#queues.dequeue().serveNext();
  }

  #serveRest(): void {
    this.#isServing = false;
    while (this.isWaiting() && !shouldYield()) this.#queues.dequeue().serveNext();
    if (this.isWaiting()) this.#serveLater();
  }
}

/** A FIFO queue of one request's work that waits for a time slice. */
export class TaskQueue {
  readonly priority = 1;
  readonly #scheduler: Scheduler;
  readonly #caller: Caller;
  /** The queues of its caller; null while nothing waits. */
  #callerQueue: FairQueue<TaskQueue> | null = null;
  #waiting = new LinkedList<Task>();
  #onEmpty: Task[] = [];

  constructor(scheduler: Scheduler, caller: Caller) {
    this.#scheduler = scheduler;
    this.#caller = caller;
  }

  isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Does the work in its turn, in a later turn of the event loop. */
  add(task: Task): void {
    this.#waiting.add(task);
    if (this.#callerQueue) return;
    this.#callerQueue = this.#scheduler.callerQueueOf(this.#caller);
    this.#callerQueue.enqueue(this);
  }

  /** Calls back after the last waiting work is done; not after `clear`. */
  onEmpty(callback: Task): void {
    this.#onEmpty.push(callback);
  }

  clear(): void {
    this.#callerQueue?.remove(this);
    this.#callerQueue = null;
    this.#waiting = new LinkedList();
    this.#onEmpty = [];
  }

  /** Does waiting work for the length of a turn. The other queues of the caller then go first. */
  serveNext(): void {
    const callerQueue = this.#callerQueue;
    callerQueue?.release();
    const begun = performance.now();
    let spent = 0;
    while (!this.isEmpty() && spent < QUEUE_SLICE_MS) {
      this.#waiting.takeFirst()?.();
      spent = performance.now() - begun;
    }
    callerQueue?.charge(spent);
    if (!this.isEmpty()) return void callerQueue?.enqueue(this);
    this.#callerQueue = null;
    for (const callback of this.#onEmpty.splice(0)) callback();
  }
}
