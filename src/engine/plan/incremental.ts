import type { GraphQLError } from "graphql";
import { shouldYield } from "../scheduler.ts";
import { completeFields, prefetchAndComplete, objectPosition } from "./complete.ts";
import {
  type IncrementalResult,
  openQueue,
  type PendingPart,
  type Path,
  type IncrementalPayloads,
} from "./incremental-payloads.ts";
import { endPending, isDropped, pathOf, completeValue } from "./execute.ts";
import type {
  Container,
  DeferredFragment,
  DeferredFragments,
  StreamedItems,
  ExecutionContext,
  ResultSlots,
} from "./types.ts";

/*
 * Executes the parts that `@defer` and `@stream` leave out of the initial result. A part starts when the result that contains it is
 * complete, so that the reads of the containing result go first. No part starts below a null. A deferred fragment delivers all fields that
 * it selects, including fields that were delivered before: clients merge them.
 */

interface WaitingPart {
  readonly part: PendingPart;
  readonly begin: () => void;
}

/** Number of result fields that take as much memory as a part. */
const FIELDS_PER_PART = 4;
/** Size of `{"id":"10","path":}` and the characters around it, in bytes. */
const BYTES_PER_PART = 90;

/**
 * Memory of a part until the last part is delivered, in the unit of the memory budget. It consists of the execution of the part and its
 * callbacks.
 */
const PENDING_PART_BYTES = 1_500;

/** Maximum items of a list that are completed together. */
const GROUP_SIZE = 64;

/** Delivers the pending parts of a result. `onReady` is called when the parts are created, with null if there are none. */
export function deliverIncrementally(
  first: ExecutionContext,
  whole: ResultSlots | null,
  onReady: (payloads: IncrementalPayloads | null) => void,
): void {
  const { meter } = first;
  const completed: ExecutionContext["completed"] = new Map();
  const nullPaths = new NullPaths();
  const queue = openQueue(meter);
  let waiting: WaitingPart[] = [];
  let isBeginning = false;
  let count = 0;

  /** Processes a list in time slices. The work may append to the list. */
  const inSlices = <Each>(all: readonly Each[], work: (each: Each) => void, onDone: () => void, from = 0) => {
    for (let index = from; index < all.length; index++) {
      if (index > from && shouldYield()) return meter.queue(() => inSlices(all, work, onDone, index));
      // Safe: the index is within the list.
      work(all[index] as Each);
    }
    onDone();
  };

  const createParts = (
    { deferredWork }: ExecutionContext,
    onCreated: (parts: readonly WaitingPart[]) => void,
  ): void => {
    const parts: WaitingPart[] = [];
    const make = (left: DeferredFragments | StreamedItems): void => {
      const { container } = left;
      if (isDropped(container) || container.slots[container.at] === null) return;
      const path = pathOf(container);
      const add = (label: string | null, begin: (part: PendingPart) => void): void => {
        if (!meter.count(FIELDS_PER_PART, BYTES_PER_PART) || !meter.countNames(path, label)) return;
        if (!meter.chargeMemory(PENDING_PART_BYTES)) return;
        const part = { id: String(count++), path, ...(label !== null && { label }) };
        parts.push({ part, begin: () => begin(part) });
      };
      if ("items" in left) add(left.label, (part) => beginItems(part, left));
      else for (const each of left.fragments) add(each.label, (part) => beginFragment(part, left, each));
    };
    inSlices(deferredWork ?? [], make, () => onCreated(parts));
  };

  /** Starts parts, after the parts that already wait. */
  const beginAll = (parts: readonly WaitingPart[]): void => {
    for (const part of parts) waiting.push(part);
    if (isBeginning) return;
    isBeginning = true;
    const begin = (each: WaitingPart): void => {
      if (queue.isOpen(each.part)) each.begin();
    };
    inSlices(waiting, begin, () => {
      isBeginning = false;
      waiting = [];
    });
  };

  const openExecution = (onEnd: (errors: GraphQLError[], parts: readonly WaitingPart[]) => void) => {
    const execution: ExecutionContext = {
      ...first,
      errors: [],
      completed,
      pending: 1,
      onEnd: () => createParts(execution, (parts) => onEnd(execution.errors, parts)),
      deferredWork: [],
    };
    return execution;
  };

  const beginFragment = (
    part: PendingPart,
    { object, field, container }: DeferredFragments,
    { selection }: DeferredFragment,
  ): void => {
    const { parent, at } = container;
    const slots: ResultSlots = { [at]: null };
    // An error that would make the object null fails only the part, because the object has already been delivered.
    const own: Container = { parent, slots, at, isNullable: true, isNulled: false };
    const execution = openExecution((errors, parts) => {
      // Safe: the slot contains an object or null.
      const data = slots[at] as ResultSlots | null;
      nullPaths.enter(errors, data, part.path);
      deliver({ part, data, errors, isLast: true }, parts);
    });
    const complete = (value: unknown): void => {
      if (field && parent && container.isNullable)
        prefetchAndComplete(objectPosition(selection(), field, true), value, slots, at, parent, execution);
      else completeFields(selection(), value, field, own, execution);
    };
    if (field && parent)
      completeValue(object, { ...field, isNullable: true, complete }, slots, at, parent, execution);
    else complete(object);
    endPending(execution);
  };

  /** Completes the items of a list concurrently, and delivers them in their order. */
  const beginItems = (part: PendingPart, list: StreamedItems): void => {
    const { container, items, from, item } = list;
    const values: unknown[] = Array.from({ length: items.length }, () => null);
    // Safe: an array's items are keyed by their index.
    const slots = values as unknown as ResultSlots;
    /** The completed groups, by the index of their first item. Each function delivers its group and returns the index after it. */
    const complete = new Map<number, () => number>();
    let next = from;

    /** Starts a group of items, which ends after the first item that does not complete immediately. */
    const beginSome = (start: number): void => {
      const above: Container = { ...container, slots: {}, isNullable: true, isNulled: false };
      let index = start;
      const execution = openExecution((errors, parts) => {
        complete.set(start, () => {
          nullPaths.enter(errors, values, part.path);
          const some = above.isNulled ? null : values.slice(start, index);
          const isLast = above.isNulled || index === items.length;
          deliver({ part, items: some, from: start, errors, isLast }, parts);
          return index;
        });
        for (let ready = complete.get(next); ready; ready = complete.get(next)) next = ready();
      });
      while (index < Math.min(items.length, start + GROUP_SIZE) && execution.pending === 1 && !above.isNulled)
        completeValue(items.at(index), item, slots, index++, above, execution);
      if (index < items.length) beginAll([{ part, begin: () => beginSome(index) }]);
      endPending(execution);
    };
    beginSome(from);
  };

  const deliver = (delivered: Omit<IncrementalResult, "pending">, parts: readonly WaitingPart[]): void => {
    const { part, isLast } = delivered;
    const following = parts.filter((each) => !nullPaths.cover(each.part.path));
    const pending = following.map((each) => each.part);
    // Nothing is reported below a value that another part has made null.
    if (nullPaths.cover(part.path)) queue.deliver({ part, errors: [], pending, isLast });
    else queue.deliver({ ...delivered, errors: meter.withCount(delivered.errors), pending });
    beginAll(following);
  };

  createParts(first, (parts) => {
    if (parts.length === 0) return onReady(null);
    nullPaths.enter(first.errors, whole, []);
    queue.open(
      parts.map((each) => each.part),
      () => beginAll(parts),
    );
    onReady(queue.payloads);
  });
}

/** Reads own properties only: a response name may be the name of an inherited property, such as `__proto__`. */
const below = (value: unknown, key: string | number): unknown =>
  Object.hasOwn(Object(value), key) ? Reflect.get(Object(value), key) : undefined;

/** A node in the tree of the paths to null values. */
interface NullPathNode {
  isNull: boolean;
  readonly below: Map<string | number, NullPathNode>;
}

/** The paths at which an error has made a value null. The value stays null even if another part delivers data at the same path. */
class NullPaths {
  readonly #root: NullPathNode = { isNull: false, below: new Map() };

  /**
   * Adds the paths at which errors have made values in a container null. Sets the container's values at the known paths to null. `at`: the
   * path of the container.
   */
  enter(errors: readonly GraphQLError[], container: unknown, at: Path): void {
    for (const { path } of errors) {
      if (!path) continue;
      let value = container;
      const last = path.findIndex((key, index) => index >= at.length && (value = below(value, key)) === null);
      if (last >= 0) this.#add(path.slice(0, last + 1));
    }
    let node: NullPathNode | undefined = this.#root;
    for (const key of at) node = node?.below.get(key);
    if (node) setNulls(node, container);
  }

  /** Whether a path leads through a null value. */
  cover(path: Path): boolean {
    let node: NullPathNode | undefined = this.#root;
    for (const key of path) {
      node = node.below.get(key);
      if (!node) return false;
      if (node.isNull) return true;
    }
    return false;
  }

  #add(path: Path): void {
    let node = this.#root;
    for (const key of path) {
      const next = node.below.get(key) ?? { isNull: false, below: new Map() };
      node.below.set(key, next);
      node = next;
    }
    node.isNull = true;
  }
}

function setNulls({ below: paths }: NullPathNode, value: unknown): void {
  for (const [key, path] of paths) {
    const inner = below(value, key);
    if (inner === undefined) continue;
    if (path.isNull) Reflect.set(Object(value), key, null);
    else setNulls(path, inner);
  }
}
