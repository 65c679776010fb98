import type { Caller, CallerRegistry, PerCaller } from "../callers/callers.ts";
import { CallerQueues, FairQueue } from "../callers/fair-queue.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { LinkedList } from "../util/linked-list.ts";

/*
 * Cooperative scheduling of work that could block the event loop. A task checks `shouldYield` and continues in a later time slice, so that
 * sockets, timers and probes are served in between. All gateways of a process share the slice, because they share the event loop.
 *
 * Own code, because packages that yield (p-event-loop and similar) yield on every call, or are not fair.
 */

/** Maximum time for which tasks block the event loop, in milliseconds. */
const SLICE_MS = 3;

/** Time for which one queue is served, in milliseconds. Switching to another queue costs as much as parsing a short response. */
const QUEUE_SLICE_MS = 0.25;

/** When the current slice ends; null until the first check in this tick of the event loop. */
let sliceEnd: number | null = null;

/** Whether the current time slice is over, so that a task should continue in a later one. */
export function shouldYield(): boolean {
  const now = performance.now();
  if (sliceEnd !== null) return now >= sliceEnd;
  sliceEnd = now + SLICE_MS;
  setImmediate(() => void (sliceEnd = null));
  return false;
}

/** Ends the current time slice. */
function endSlice(): void {
  shouldYield();
  sliceEnd = Number.NEGATIVE_INFINITY;
}

type Task = () => void;

let due: Task[] = [];

/**
 * Runs a task after all ready sockets of this tick have been read, together with other such tasks. Running equal work in a row costs much
 * less than interleaving it: code and data stay in the processor's caches, and the process at the other end of the connections wakes up
 * only once. If one task throws, the others still run.
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

/** An item of a caller's fair queue. `serveNext` starts its next task. */
interface Served {
  readonly priority: number;
  serveNext(): void;
}

/**
 * Schedules the tasks of a gateway fairly over its callers, and over the task queues of each caller. Neither a long queue nor a caller with
 * many queues delays other callers.
 */
export class Scheduler {
  readonly #queues = new FairQueue<Served>(null);
  readonly #callerQueues: CallerQueues<Served>;
  /** The tasks of each caller that belong to no operation's queue, such as parsing a response or starting an operation. */
  readonly #own: PerCaller<TaskQueue>;
  #isServing = false;

  constructor(callers: CallerRegistry) {
    this.#own = callers.perCaller((caller) => this.queueOf(caller));
    this.#callerQueues = new CallerQueues(callers, this.#queues, this.#queues, {});
  }

  /** Runs a task now if the time slice allows it and nothing waits, otherwise in a later slice. */
  readonly run = (caller: Caller, task: Task): void => {
    if (!this.isWaiting() && !shouldYield()) task();
    else this.#own.of(caller).add(task);
  };

  /**
   * Runs an iterator, which `open` creates, in time slices. Other tasks run between the steps of the iterator. If `onStep` returns false,
   * the iterator is dropped, and neither `resolve` nor `reject` is called. An error that `resolve` throws is passed to `reject`.
   */
  readonly runCooperatively = <Yielded, Result>(
    caller: Caller,
    open: () => Iterator<Yielded, Result, undefined>,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
    onStep?: (step: Yielded) => boolean,
  ): void => {
    let task: Iterator<Yielded, Result, undefined> | null = null;
    const advance = (): void => {
      try {
        task ??= open();
        do {
          const step = task.next();
          if (step.done) return resolve(step.value);
          if (onStep?.(step.value) === false) return;
        } while (!this.isWaiting() && !shouldYield());
        this.#own.of(caller).add(advance);
      } catch (error) {
        reject(error);
      }
    };
    this.run(caller, advance);
  };

  /**
   * Resolves when the scheduler serves the caller, and ends the time slice, so that work that follows in microtasks has its own tick. The
   * caller is charged for the time until the next tick. Resolves at once if the request ends while it waits.
   */
  readonly ownTick = (scope: RequestScope): Promise<void> =>
    new Promise((resolve) => {
      const queue = this.callerQueueOf(scope.caller);
      const cancel = (): void => {
        queue.remove(entry);
        resolve();
      };
      const serveNext = (): void => {
        scope.offEnd(cancel);
        queue.release();
        endSlice();
        const begun = performance.now();
        resolve();
        setImmediate(() => queue.charge(performance.now() - begun));
      };
      const entry = { priority: 1, serveNext };
      queue.enqueue(entry);
      scope.onEnd(cancel);
    });

  queueOf(caller: Caller): TaskQueue {
    return new TaskQueue(this, caller);
  }

  isWaiting(): boolean {
    return this.#queues.isReady();
  }

  /** The fair queue of a caller's task queues. Schedules a slice, because the caller of this method is about to add a task queue. */
  callerQueueOf(caller: Caller): FairQueue<Served> {
    if (!this.isWaiting()) this.#serveLater();
    return this.#callerQueues.of(caller);
  }

  #serveLater(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    setImmediate(() => this.#serve());
  }

  /**
   * Serves a time slice. The microtasks of the first task run before the other tasks, so that tasks which they add are served in the same
   * slice.
   */
  #serve(): void {
    void Promise.resolve().then(() => process.nextTick(() => this.#serveRest()));
    // Begins the slice. One queue is served even if another gateway of the process has used up the slice.
    shouldYield();
    if (this.isWaiting()) this.#queues.dequeue().serveNext();
  }

  #serveRest(): void {
    this.#isServing = false;
    while (this.isWaiting() && !shouldYield()) this.#queues.dequeue().serveNext();
    if (this.isWaiting()) this.#serveLater();
  }
}

/** The tasks of one request that wait for a time slice, first in, first out. */
export class TaskQueue implements Served {
  readonly priority = 1;
  readonly #scheduler: Scheduler;
  readonly #caller: Caller;
  /** The fair queue of the caller, in which this queue waits; null while no task waits. */
  #callerQueue: FairQueue<Served> | null = null;
  #waiting = new LinkedList<Task>();
  #onEmpty: Task[] = [];

  constructor(scheduler: Scheduler, caller: Caller) {
    this.#scheduler = scheduler;
    this.#caller = caller;
  }

  isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Runs the task in a later tick. */
  add(task: Task): void {
    this.#waiting.add(task);
    if (this.#callerQueue) return;
    this.#callerQueue = this.#scheduler.callerQueueOf(this.#caller);
    this.#callerQueue.enqueue(this);
  }

  /** Calls back when the queue becomes empty by running its tasks. Does not call back after `clear`. */
  onEmpty(callback: Task): void {
    this.#onEmpty.push(callback);
  }

  clear(): void {
    this.#callerQueue?.remove(this);
    this.#callerQueue = null;
    this.#waiting = new LinkedList();
    this.#onEmpty = [];
  }

  /** Runs tasks for `QUEUE_SLICE_MS`. Afterwards the other queues of the caller go first. */
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
