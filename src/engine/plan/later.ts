import type { GraphQLError } from "graphql";
import { isSliceOver } from "../turns.ts";
import { completeFields, completeSelected } from "./complete.ts";
import { openQueue, type Pieces } from "./pieces.ts";
import { end, isDropped, pathOf, settle } from "./run.ts";
import type {
  CompletedField,
  Container,
  Deferred,
  DeferredGroup,
  Later,
  Run,
  Slots,
  StreamedRest,
  Usage,
} from "./types.ts";

/*
 * Runs what `@defer` and `@stream` leave out of the first result, as graphql-js 17 does: the deferred parts of a result
 * begin when the rest of it is complete, so that its reads come first, and those of what has become null never begin.
 */

/** A deferred fragment or streamed list at one place of the result. */
interface Part {
  /** Null until it is announced. */
  id: string | null;
  readonly label: string | null;
  readonly place: Container;
  state: "waiting" | "pending" | "done" | "failed";
  /** Its groups that are not complete. */
  readonly open: Set<Group>;
  readonly finished: Group[];
  /** The parts that begin when it is complete. */
  readonly inner: Part[];
  /** Why it failed before it was announced. */
  errors: readonly GraphQLError[];
  /** Begins a streamed list; null for a fragment. */
  readonly begin: (() => void) | null;
}

/** Fields of one object that are completed together, for all deferred fragments that select them. */
interface Group {
  readonly group: DeferredGroup;
  readonly object: unknown;
  readonly field: CompletedField | null;
  readonly place: Container;
  readonly owners: readonly Part[];
  isBegun: boolean;
  isDelivered: boolean;
  data: Slots;
  errors: readonly GraphQLError[];
}

type Finding =
  | (Pick<Group, "object" | "field" | "place"> & { readonly deferred: Deferred })
  | { readonly rest: StreamedRest; readonly place: Container };

/** What one run leaves for later. */
interface Findings {
  readonly later: Later;
  /** Admits it, once the run is complete. */
  readonly admit: () => void;
}

/** What the runs of an operation have in common. */
type Common = Pick<Run, "context" | "variables" | "meter" | "onError" | "halt">;

/** Opens the later part of an operation. `first` is for the run of its first result. */
export function openLater(common: Common): { first: Findings; pieces: Pieces } {
  /** What begins when the first result has been taken. */
  const { meter } = common;
  const waiting: (() => void)[] = [];
  const queue = openQueue(meter, () => waiting.splice(0).forEach(start));
  const partsAt = new WeakMap<Container, Map<Usage, Part>>();
  const completed: Run["completed"] = new Map();

  const start = (begin: () => void): void => {
    if (!queue.isTaken()) waiting.push(begin);
    else if (!meter.isWaiting() && !isSliceOver()) begin();
    else meter.queue(begin);
  };

  const partOf = (usage: Usage, place: Container): Part | null => {
    for (let above: Container | null = place; above; above = above.parent) {
      const part = partsAt.get(above)?.get(usage);
      if (part) return part;
    }
    return null;
  };

  const createPart = (label: string | null, place: Container, begin: Part["begin"]): Part => ({
    id: null,
    label,
    place,
    state: "waiting",
    open: new Set(),
    finished: [],
    inner: [],
    errors: [],
    begin,
  });

  const openRun = (errors: GraphQLError[], findings: Findings, onEnd: () => void): Run => ({
    ...common,
    errors,
    completed,
    pending: 1,
    onEnd,
    later: findings.later,
  });

  /** Collects what a run leaves for later. `outer` is the part that it completes. */
  const openFindings = (outer: Part | null): Findings => {
    const found: Finding[] = [];
    return {
      later: {
        defer: (deferred, object, field, place) => void found.push({ deferred, object, field, place }),
        stream: (rest) => void found.push({ rest, place: rest.list }),
      },
      admit: () => admit(found, outer),
    };
  };

  const admit = (found: readonly Finding[], outer: Part | null): void => {
    const parts: (readonly [part: Part, outer: Part | null])[] = [];
    const groups: Group[] = [];
    for (const finding of found) {
      const { place } = finding;
      if (isDropped(place) || place.slots[place.at] === null) continue;
      if ("rest" in finding) {
        const part: Part = createPart(finding.rest.label, place, () => beginStream(part, finding.rest));
        parts.push([part, outer]);
        continue;
      }
      const { deferred, object, field } = finding;
      const here = partsAt.get(place) ?? new Map<Usage, Part>();
      partsAt.set(place, here);
      for (const usage of deferred.usages) {
        const part = createPart(usage.label, place, null);
        here.set(usage, part);
        parts.push([part, usage.parent ? partOf(usage.parent, place) : outer]);
      }
      for (const group of deferred.groups) {
        const owners = group.usages.flatMap((usage) => partOf(usage, place) ?? []);
        const state = { isBegun: false, isDelivered: false, data: {}, errors: [] };
        const opened: Group = { group, object, field, place, owners, ...state };
        for (const owner of owners) owner.open.add(opened);
        groups.push(opened);
      }
    }
    for (const [part, above] of parts) {
      if (!above || above.state === "done") release(part);
      else if (above.state !== "failed") above.inner.push(part);
    }
    for (const group of groups) if (group.owners.some(({ state }) => state === "pending")) begin(group);
  };

  /** Announces a part and begins it. */
  const release = (part: Part): void => {
    if (part.state === "waiting" && !part.begin && part.open.size === 0 && part.finished.length === 0) {
      // Everything of it is delivered with other parts.
      part.state = "done";
      part.inner.forEach(release);
      return;
    }
    part.id = queue.announce(pathOf(part.place), part.label);
    if (part.state === "failed") return queue.complete(part.id, part.errors);
    part.state = "pending";
    if (part.begin) return start(part.begin);
    part.open.forEach(begin);
    complete(part);
  };

  const begin = (group: Group): void => {
    if (group.isBegun) return;
    group.isBegun = true;
    start(() => runGroup(group));
  };

  const runGroup = (group: Group): void => {
    const { field, object, owners, place } = group;
    const { selection } = group.group;
    const { parent, at } = place;
    const slots: Slots = { [at]: null };
    // An error that would make the object null fails only the part: what is delivered stays.
    const container: Container = { parent, slots, at, isNullable: true, isNulled: false };
    partsAt.set(container, partsAt.get(place) ?? new Map());
    const errors: GraphQLError[] = [];
    const findings = openFindings(owners[0] ?? null);
    const run = openRun(errors, findings, () => {
      if (owners.every(({ state }) => state === "failed")) return;
      if (slots[at] === null) return owners.forEach((owner) => fail(owner, errors));
      // Safe: the object's values are there when it is not null.
      group.data = slots[at] as Slots;
      group.errors = errors;
      findings.admit();
      for (const owner of owners) {
        owner.open.delete(group);
        owner.finished.push(group);
        complete(owner);
      }
    });
    const completeObject = (value: unknown): void => {
      if (field && place.isNullable) completeSelected(selection, value, field, container, run);
      else completeFields(selection, value, container, run);
    };
    if (field && parent) settle(object, completeObject, field, slots, at, parent, true, run);
    else completeObject(object);
    end(run);
  };

  /** Delivers a part when all of it is there. */
  const complete = (part: Part): void => {
    if (part.state !== "pending" || part.open.size > 0) return;
    part.state = "done";
    const path = pathOf(part.place);
    for (const group of part.finished) {
      if (group.isDelivered || part.id === null) continue;
      group.isDelivered = true;
      const { data, errors } = group;
      queue.deliver(part.id, pathOf(group.place).slice(path.length), { data }, errors);
    }
    if (part.id !== null) queue.complete(part.id, []);
    part.inner.forEach(release);
  };

  const fail = (part: Part, errors: readonly GraphQLError[]): void => {
    if (part.state === "done" || part.state === "failed") return;
    part.state = "failed";
    part.errors = errors;
    if (part.id !== null) queue.complete(part.id, errors);
  };

  /** Completes the items of a streamed list side by side, and delivers them in their order. */
  const beginStream = (
    part: Part,
    { list, items, from, field, isItemNullable, completeItem }: StreamedRest,
  ): void => {
    const { parent, at } = list;
    const done = new Map<number, () => boolean>();
    let next = from;
    const onDone = (): void => {
      if (part.state !== "pending") return;
      for (let deliver = done.get(next); deliver; deliver = done.get(++next)) if (!deliver()) return;
      if (next === from + items.length) complete(part);
    };
    if (!meter.count(items.length, items.length * ITEM_BYTES)) return;
    for (const [offset, item] of items.entries()) {
      const index = from + offset;
      const slots: Slots = { [index]: null };
      const above: Container = { parent, slots: {}, at, isNullable: true, isNulled: false };
      const errors: GraphQLError[] = [];
      const findings = openFindings(null);
      const run = openRun(errors, findings, () => {
        done.set(index, () => {
          if (above.isNulled) fail(part, errors);
          if (above.isNulled || part.id === null) return false;
          queue.deliver(part.id, [], { items: [slots[index]], from: index }, errors);
          findings.admit();
          return true;
        });
        onDone();
      });
      settle(item, completeItem, field, slots, index, above, isItemNullable, run);
      end(run);
    }
  };

  return { first: openFindings(null), pieces: queue.pieces };
}

/** Size of `{},`. */
const ITEM_BYTES = 3;
