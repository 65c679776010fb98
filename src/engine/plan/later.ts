import type { GraphQLError } from "graphql";
import { isSliceOver } from "../turns.ts";
import { completeAndDefer, completeSelected } from "./complete.ts";
import { NullPlaces } from "./null-places.ts";
import { type Delivered, openQueue, type Part, type Pieces } from "./pieces.ts";
import { end, isDropped, pathOf, settle } from "./run.ts";
import type {
  Container,
  DeferredFragment,
  LaterFragments,
  LaterItems,
  ListItems,
  Run,
  Slots,
} from "./types.ts";

/*
 * Runs what `@defer` and `@stream` leave out of the first result. A part begins when the result that it belongs to is
 * complete, so that the reads of that come first; in what has become null, none begins. A deferred fragment delivers all
 * that it selects, also what came before: clients merge it.
 */

/** A part that has not begun. */
interface Waiting {
  readonly part: Part;
  readonly later: LaterFragments | LaterItems;
  /** Null for the items of a list. */
  readonly fragment: DeferredFragment | null;
}

/** A part takes as much memory as so many fields of a result. */
const FIELDS_PER_PART = 4;
/** Size of `{"id":"10","path":[]}` and what surrounds it, and of a key of the path. */
const BYTES_PER_PART = 90;
const BYTES_PER_KEY = 12;

/** Delivers what the first result leaves for later. `onReady` is called when its parts are made; with null if there are none. */
export function deliverLater(
  common: Pick<Run, "context" | "variables" | "meter" | "onError" | "halt">,
  first: Pick<Run, "errors" | "later"> & { readonly data: Slots | null },
  onReady: (pieces: Pieces | null) => void,
): void {
  const { meter } = common;
  const completed: Run["completed"] = new Map();
  const nulls = new NullPlaces();
  let waiting: Waiting[] = [];
  let isBeginning = false;
  let made = 0;

  /** Does work on a list from an index on, in time slices. */
  const inSlices = <Each>(
    all: ListItems<Each>,
    work: (each: Each, index: number) => void,
    onDone: () => void = () => {},
    from = 0,
  ): void => {
    for (let index = from; index < all.length; index++) {
      if (index > from && isSliceOver()) return meter.queue(() => inSlices(all, work, onDone, index));
      // Safe: the index is within the list.
      work(all.at(index) as Each, index);
    }
    onDone();
  };

  /** Makes the parts of what a run has left. */
  const makeParts = ({ later }: Pick<Run, "later">, onMade: (parts: readonly Waiting[]) => void): void => {
    const parts: Waiting[] = [];
    const make = (left: LaterFragments | LaterItems): void => {
      const { place } = left;
      if (isDropped(place) || place.slots[place.at] === null) return;
      const path = pathOf(place);
      const all = "fragments" in left ? left.fragments : [left];
      const bytes = BYTES_PER_PART + path.length * BYTES_PER_KEY;
      if (!meter.count(all.length * FIELDS_PER_PART, all.length * bytes)) return;
      for (const each of all) {
        const { label } = each;
        const part = { id: String(made++), path, ...(label !== null && { label }) };
        parts.push({ part, later: left, fragment: "selection" in each ? each : null });
      }
    };
    inSlices(later ?? [], make, () => onMade(parts));
  };

  /** Begins parts in their order, behind those that wait. */
  const beginAll = (parts: readonly Waiting[]): void => {
    for (const part of parts) waiting.push(part);
    if (isBeginning || waiting.length === 0) return;
    isBeginning = true;
    const begun = waiting;
    waiting = [];
    inSlices(begun, begin, () => {
      isBeginning = false;
      beginAll([]);
    });
  };

  const begin = ({ part, later, fragment }: Waiting): void => {
    if (!queue.isOpen(part)) return;
    if ("items" in later) beginItems(part, later);
    else if (fragment) beginFragment(part, later, fragment);
  };

  const openRun = (onEnd: (errors: GraphQLError[], parts: readonly Waiting[]) => void): Run => {
    const run: Run = {
      ...common,
      errors: [],
      completed,
      pending: 1,
      onEnd: () => makeParts(run, (parts) => onEnd(run.errors, parts)),
      later: [],
    };
    return run;
  };

  const beginFragment = (
    part: Part,
    { object, field, place }: LaterFragments,
    { selection }: DeferredFragment,
  ): void => {
    const { parent, at } = place;
    const slots: Slots = { [at]: null };
    // An error that would make the object null fails only the part: what is delivered stays.
    const container: Container = { parent, slots, at, isNullable: true, isNulled: false };
    const run = openRun((errors, parts) => {
      // Safe: the slot is that of an object.
      const data = slots[at] as Slots | null;
      nulls.add(errors, data, part.path);
      deliver(part, { data: nulls.applied(data, part.path) }, errors, parts, true);
    });
    const completeFields = completeAndDefer(field);
    const complete = (value: unknown): void => {
      if (field && place.isNullable)
        completeSelected(selection(), value, field, container, run, completeFields);
      else completeFields(selection(), value, container, run);
    };
    if (field && parent) settle(object, complete, field, slots, at, parent, true, run);
    else complete(object);
    end(run);
  };

  /** Completes the items of a list side by side, and delivers them in their order. */
  const beginItems = (
    part: Part,
    { place, items, from, field, isItemNullable, completeItem }: LaterItems,
  ): void => {
    const { parent, at } = place;
    // Safe: an array's items are keyed by their index.
    const slots = Array.from({ length: items.length }, () => null) as unknown as Slots;
    const complete = new Map<number, () => void>();
    let next = from;
    const beginItem = (item: unknown, index: number): void => {
      if (!queue.isOpen(part)) return;
      const above: Container = { parent, slots: {}, at, isNullable: true, isNulled: false };
      const run = openRun((errors, parts) => {
        complete.set(index, () => {
          const isLast = above.isNulled || index === items.length - 1;
          nulls.add(errors, slots, part.path);
          const value = nulls.applied(slots[index], [...part.path, index]);
          slots[index] = null;
          deliver(part, { items: above.isNulled ? null : [value], from: index }, errors, parts, isLast);
        });
        for (let ready = complete.get(next); ready; ready = complete.get(next)) {
          complete.delete(next++);
          ready();
        }
      });
      settle(item, completeItem, field, slots, index, above, isItemNullable, run);
      end(run);
    };
    inSlices(items, beginItem, undefined, from);
  };

  const deliver = (
    part: Part,
    value: Pick<Delivered, "data" | "items" | "from">,
    errors: GraphQLError[],
    parts: readonly Waiting[],
    isLast: boolean,
  ): void => {
    if (!queue.isOpen(part)) return;
    const following = parts.filter((each) => !nulls.cover(each.part.path));
    const pending = following.map((each) => each.part);
    // Of what another part has made null nothing is told.
    const isGone = nulls.cover(part.path);
    const told = isGone ? {} : value;
    queue.deliver({ part, ...told, errors: isGone ? [] : meter.boundErrors(errors), pending, isLast });
    beginAll(following);
  };

  const queue = openQueue(meter);
  makeParts(first, (parts) => {
    if (parts.length === 0) return onReady(null);
    nulls.add(first.errors, first.data, []);
    queue.open(
      parts.map((each) => each.part),
      () => beginAll(parts),
    );
    onReady(queue.pieces);
  });
}
