import {
  GraphQLError,
  type GraphQLAbstractType,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import type { LoadedRecord, ScalarExtensions } from "../field-extensions.ts";
import { LazyList } from "../../util/lazy-list.ts";
import { shouldYield } from "../scheduler.ts";
import { CHILD_BYTES, scheduleWork, executeFields, completeValue, writeLeafFields } from "./execute.ts";
import type {
  Compilation,
  Complete,
  CompletedField,
  CompletedObject,
  Container,
  ListItems,
  ExecutionContext,
  Selection,
  ValuePosition,
  ResultSlots,
} from "./types.ts";

/** Creates the function that completes the values of a type that are not null. The type itself may be nullable. */
export function completerOf(compilation: Compilation, type: GraphQLOutputType, field: CompletedField) {
  const present = getNullableType(type);
  const isNullable = present === type;
  if (isLeafType(present)) return completeLeaf(present);
  if (isListType(present)) return completeList(compilation, present.ofType, field, isNullable);
  if (isObjectType(present)) return completeObject(compilation, present, field, isNullable);
  return completeAbstract(compilation, present, field, isNullable);
}

const isText = (value: unknown): boolean => typeof value === "string";
/** Tests for values of built-in scalars that need no serialization. Other values are converted by the type's `serialize`. */
const PASS_THROUGH: Readonly<Record<string, (value: unknown) => boolean>> = {
  String: isText,
  ID: isText,
  Boolean: (value) => typeof value === "boolean",
  Int: (value) => typeof value === "number" && value === (value | 0),
  Float: (value) => Number.isFinite(value),
};

/** The test for values of a type that need no serialization; null if all values need it. */
export function passThroughOf(type: GraphQLLeafType): ((value: unknown) => boolean) | null {
  const { isPassThrough }: ScalarExtensions = type.extensions;
  return PASS_THROUGH[type.name] ?? isPassThrough ?? null;
}

function completeLeaf(type: GraphQLLeafType): Complete {
  const isPassThrough = passThroughOf(type);
  return (value, slots, at, _, execution) => {
    const written: unknown = isPassThrough?.(value) ? value : type.serialize(value);
    if (written === null || written === undefined) {
      throw new Error(
        `Expected \`${type.name}.serialize\` to return non-nullable value, returned: ${written}`,
      );
    }
    slots[at] = written;
    execution.meter.count(0, execution.meter.sizeOf(written));
  };
}

/** Size of `{},` in bytes. */
const ITEM_BYTES = 3;
/** Number of list items that are completed between two checks of the clock. */
const COMPLETION_STRIDE = 64;

function completeList(
  compilation: Compilation,
  itemType: GraphQLOutputType,
  field: CompletedField,
  isNullable: boolean,
): Complete {
  const item: ValuePosition = {
    ...field,
    isNullable: !isNonNullType(itemType),
    complete: completerOf(compilation, itemType, field),
  };
  const streamed = compilation.deferral?.streamedOf(field.nodes);
  return (value, slots, at, above, execution) => {
    if (typeof value !== "object" || value === null || !(Symbol.iterator in value)) {
      throw new GraphQLError(`Expected Iterable, but did not find one for field "${field.coordinate}".`);
    }
    const all: ListItems =
      Array.isArray(value) || value instanceof LazyList ? value : [...(value as Iterable<unknown>)];
    // Items that are streamed later are counted here as well.
    if (!execution.meter.count(all.length, all.length * ITEM_BYTES)) return;
    const count = streamed ? Math.min(streamed.initialCount(execution.variables), all.length) : all.length;
    const list: unknown[] = [];
    // Safe: an array's items are keyed by their index.
    const itemSlots = list as unknown as ResultSlots;
    slots[at] = list;
    const container: Container = { parent: above, slots, at, isNullable, isNulled: false };
    // Prevents unhandled rejections: items are awaited later, or never if the operation is stopped.
    if (Array.isArray(all)) for (const each of all) if (each instanceof Promise) each.catch(() => {});
    if (streamed && all.length > count)
      execution.deferredWork?.push({ label: streamed.label, container, items: all, from: count, item });
    const completeFrom = (first: number): void => {
      for (let index = first; index < count; index++) {
        if (index > first && index % COMPLETION_STRIDE === 0 && shouldYield()) {
          scheduleWork(execution, () => completeFrom(index));
          return;
        }
        completeValue(all.at(index), item, itemSlots, index, container, execution);
        if (container.isNulled || execution.meter.isStopped) return;
      }
    };
    completeFrom(0);
  };
}

function completeObject(
  compilation: Compilation,
  type: GraphQLObjectType,
  field: CompletedField,
  isNullable: boolean,
): Complete {
  let position: ObjectPosition | null = null;
  return (value, slots, at, above, execution) => {
    position ??= objectPosition(compilation.selectionOf(type, field.nodes), field, isNullable);
    const { selection } = position;
    if (selection.isPlain) {
      const values = selection.createObject();
      slots[at] = values;
      if (writeLeafFields(selection, value, values, execution)) return;
    }
    prefetchAndComplete(position, value, slots, at, above, execution);
  };
}

function completeAbstract(
  compilation: Compilation,
  type: GraphQLAbstractType,
  field: CompletedField,
  isNullable: boolean,
): Complete {
  const { schema, selectionOf } = compilation;
  const positions = new Map<unknown, ObjectPosition>();
  const select = (name: unknown): ObjectPosition => {
    const object = typeof name === "string" ? schema.getType(name) : null;
    if (!isObjectType(object) || !schema.isSubType(type, object)) {
      throw new TypeError(`Abstract type ${type.name} must resolve to one of its object types.`);
    }
    const position = objectPosition(selectionOf(object, field.nodes), field, isNullable);
    positions.set(name, position);
    return position;
  };
  return (value, slots, at, above, execution) => {
    // Safe: the `resolveType` functions of the schema read only the value and the context.
    const name: unknown = type.resolveType?.(value, execution.context, null as never, type);
    prefetchAndComplete(positions.get(name) ?? select(name), value, slots, at, above, execution);
  };
}

/**
 * Completes the objects that a field returns for one selection. All objects share one position, so that a pending object allocates nothing.
 */
interface ObjectPosition extends ValuePosition, CompletedField {
  readonly selection: Selection;
}

/** Lists all properties, because spreading the field takes longer than completing an object. */
export const objectPosition = (
  selection: Selection,
  field: CompletedField,
  isNullable: boolean,
): ObjectPosition => ({
  coordinate: field.coordinate,
  nodes: field.nodes,
  prefetch: field.prefetch,
  isNullable,
  selection,
  complete: (object, slots, at, parent, execution) =>
    completeFields(selection, object, field, { parent, slots, at, isNullable, isNulled: false }, execution),
});

/** Prefetches the data that the fields of an object need, and completes the object. */
export function prefetchAndComplete(
  position: ObjectPosition,
  value: unknown,
  slots: ResultSlots,
  at: string | number,
  parent: Container,
  execution: ExecutionContext,
): void {
  if (!position.prefetch || !position.isNullable)
    return position.complete(value, slots, at, parent, execution);
  const { needs } = position.selection;
  if (needs.children.length > 0 && !execution.meter.chargeMemory(needs.children.length * CHILD_BYTES)) return;
  // Safe: the field's declaration matches the prefetch with its objects and context.
  const prefetch = position.prefetch as (...given: readonly unknown[]) => unknown;
  const context = execution.context.at?.({ parent, at }) ?? execution.context;
  completeValue(prefetch(value, needs, context, execution.variables), position, slots, at, parent, execution);
}

/** Completes the fields of a loaded object, or of the root. `field` is null for the root. */
export function completeFields(
  selection: Selection,
  object: unknown,
  field: CompletedField | null,
  container: Container,
  execution: ExecutionContext,
): void {
  const { meter, completed } = execution;
  const { deferred } = selection;
  if (deferred.length > 0) execution.deferredWork?.push({ fragments: deferred, object, field, container });
  // A completed object is reused wherever the same selection is completed for the same record. A traced operation reuses none, because its
  // objects are traced by path. Safe: memoizable selections have loaded records.
  const record = selection.isMemoizable && !execution.context.at ? (object as LoadedRecord).loaded : null;
  const known = record && completed.get(selection)?.get(record);
  if (known && known.isExact === meter.isExact) {
    if (meter.count(known.fields, known.bytes)) container.slots[container.at] = known.values;
    return;
  }
  const values = selection.createObject();
  container.slots[container.at] = values;
  if (shouldYield())
    return scheduleWork(execution, () => executeFields(selection, object, container, values, execution));
  const { pending } = execution;
  const fields = meter.fields;
  const bytes = meter.bytes;
  const { errors, isExact } = meter;
  executeFields(selection, object, container, values, execution);
  const isWhole = execution.pending === pending && meter.errors === errors;
  if (!record || !isWhole || meter.isStopped) return;
  const bySelection = completed.get(selection) ?? new Map<object, CompletedObject>();
  completed.set(selection, bySelection);
  bySelection.set(record, { values, isExact, fields: meter.fields - fields, bytes: meter.bytes - bytes });
}
