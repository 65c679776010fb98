import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { sizeOfJson } from "./json-size.ts";
import { type Meter, openMeter } from "./meter.ts";
import { hasOutcome } from "../errors.ts";
import { isJson, sealEach } from "../graphql/core/json.ts";

/*
 * Every field of the finished schema counts what it gives: itself, the items of its list, the bytes of its values.
 * Every object and every item passes a gate, so that the event loop has its turns while a large result is made. One
 * pass and one wrapper for each field; the counting itself knows nothing of GraphQL.
 */

interface Metered {
  /** Absent where the schema runs without a server around it. */
  readonly meter?: Meter;
}

const NO_LIMITS = {
  fields: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  errors: Number.POSITIVE_INFINITY,
};
const UNLIMITED = openMeter({
  party: "",
  limits: NO_LIMITS,
  tooLarge: (message) => new RangeError(message),
});

type Field = GraphQLField<unknown, Metered>;

export function meterFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values<Field>(type.getFields())) field.resolve = metered(field);
  }
  return schema;
}

function metered({ type, resolve = defaultFieldResolver }: Field): GraphQLFieldResolver<unknown, Metered> {
  const named = getNamedType(type);
  const isLeaf = isLeafType(named);
  const count = isLeaf ? countLeaf : isNullableItem(type) ? countNullables : countObject;
  const prepare = isJson(named) ? sealEach : null;
  const isNullable = !isNonNullType(type);
  return (source, args, context, info) => {
    const { meter = UNLIMITED } = context;
    if (meter.isStopped()) return meter.never;
    const bytes = bytesOfKey(info.path.key);
    const counted = (value: unknown): unknown => count(prepare ? prepare(value) : value, bytes, meter);
    try {
      const value: unknown = resolve(source, args, context, info);
      if (!(value instanceof Promise)) return isLeaf ? counted(value) : meter.gate(counted(value));
      return value.then(
        (settled: unknown) => (isLeaf || settled === null ? counted(settled) : meter.pass(counted(settled))),
        (fault: unknown) => failed(fault, meter, isNullable),
      );
    } catch (fault) {
      return failed(fault, meter, isNullable);
    }
  };
}

function isNullableItem(type: GraphQLOutputType): boolean {
  const list = getNullableType(type);
  return isListType(list) && !isNonNullType(list.ofType);
}

/** A null without an error, once there are too many errors and where the type allows null. */
function failed(fault: unknown, meter: Meter, isNullable: boolean): unknown {
  if (meter.isStopped()) return meter.never;
  // What may have happened is told, however much else failed.
  if (isNullable && !meter.countError() && !hasOutcome(fault)) return null;
  throw fault;
}

/** `"key":` with a comma and brackets. Keys are the caller's choice, and repeated for each item. */
const bytesOfKey = (key: string | number): number => String(key).length + 6;

/** Items of a list of scalars beyond which it waits for a time slice as an object does. */
const LONG = 1_000;

function countLeaf(value: unknown, keyBytes: number, meter: Meter): unknown {
  if (Array.isArray(value)) return countLeaves(value, keyBytes, meter);
  const size = sizeOfJson(value, meter.limits.bytes);
  if (typeof size === "number") return meter.count(1, keyBytes + size) ? value : meter.never;
  return size.then((bytes) => (meter.count(1, keyBytes + bytes) ? value : meter.never));
}

function countLeaves(values: readonly unknown[], keyBytes: number, meter: Meter): unknown {
  // Counted before they are measured: there may be millions.
  if (!meter.count(1 + values.length, keyBytes + values.length)) return meter.never;
  const waiting: Promise<number>[] = [];
  for (const value of values) {
    const size = sizeOfJson(value, meter.limits.bytes);
    if (typeof size !== "number") waiting.push(size);
    else if (!meter.count(0, size)) return meter.never;
  }
  if (waiting.length === 0) return values.length > LONG ? meter.gate(values) : values;
  return Promise.all(waiting).then((sizes) =>
    sizes.every((size) => meter.count(0, size)) ? values : meter.never,
  );
}

/** An object, or a list of objects that are all there. */
function countObject(value: unknown, keyBytes: number, meter: Meter): unknown {
  return Array.isArray(value) ? countItems(value, keyBytes, meter, false) : countOne(value, keyBytes, meter);
}

/** A list of objects that may be null. */
function countNullables(value: unknown, keyBytes: number, meter: Meter): unknown {
  return Array.isArray(value) ? countItems(value, keyBytes, meter, true) : countOne(value, keyBytes, meter);
}

const countOne = (value: unknown, keyBytes: number, meter: Meter): unknown =>
  meter.count(1, keyBytes) ? value : meter.never;

/** `{},` */
const ITEM_BYTES = 3;

function countItems(
  items: readonly unknown[],
  keyBytes: number,
  meter: Meter,
  areNullable: boolean,
): unknown {
  if (!meter.count(1 + items.length, keyBytes + ITEM_BYTES * items.length)) return meter.never;
  const settling = items.map((item) => (item instanceof Promise ? settle(item, meter, areNullable) : item));
  return { [Symbol.iterator]: () => passing(settling, meter) };
}

/** An item that is waited for. The executor may look at it late, or never when the operation is stopped: its fault is no unhandled one. */
function settle(item: Promise<unknown>, meter: Meter, isNullable: boolean): Promise<unknown> {
  const settled = item.then(meter.pass, (fault: unknown) => failed(fault, meter, isNullable));
  settled.catch(() => {});
  return settled;
}

/** The items, one at a time as the executor takes them: those that come when the time slice is over wait for another. */
function* passing(items: readonly unknown[], meter: Meter): Generator<unknown, void> {
  for (const item of items) {
    if (meter.isStopped()) return;
    yield item instanceof Promise ? item : meter.gate(item);
  }
}
