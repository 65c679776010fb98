import { type GraphQLError, locatedError } from "graphql";
import { hasOutcome, withoutStack } from "../../errors.ts";
import { LazyValue, type LoadedRecord } from "../field-extensions.ts";
import { shouldYield } from "../scheduler.ts";
import type {
  Container,
  PlannedField,
  ExecutionContext,
  Selection,
  ValuePosition,
  ResultSlots,
} from "./types.ts";

/*
 * Executes a plan. Each value is written into its slot of the result. The value of a promise is written when the promise resolves. A
 * counter of pending values detects completion. Work is divided into time slices, so that a large result does not block the event loop.
 * Execution ends early if the meter stops the operation.
 */

/** Memory of the promise and the callbacks of a read that is started for a field, in the unit of the memory budget. */
export const CHILD_BYTES = 1_500;

export const NO_ARGS = {};

/** Resolves the fields of an object and completes them into its slots. */
export function executeFields(
  selection: Selection,
  parent: unknown,
  container: Container,
  slots: ResultSlots,
  execution: ExecutionContext,
): void {
  const fields = writeLeafFields(selection, parent, slots, execution) ? selection.others : selection.fields;
  resolveFields(fields, parent, container, slots, execution);
}

function resolveFields(
  fields: readonly PlannedField[],
  parent: unknown,
  container: Container,
  slots: ResultSlots,
  execution: ExecutionContext,
): void {
  let resolved = 0;
  for (const field of fields) {
    // The clock is checked for each field, because hundreds of fields may each process a value or argument of several megabytes.
    if (resolved > 0 && shouldYield())
      return scheduleWork(execution, () => {
        if (!container.isNulled) resolveFields(fields.slice(resolved), parent, container, slots, execution);
      });
    resolved++;
    if (!execution.meter.count(1, field.keyBytes)) return;
    if (field.child && !execution.meter.chargeMemory(CHILD_BYTES)) return;
    const { variables, context } = execution;
    let value: unknown;
    try {
      const traced = context.at?.({ parent: container, at: field.key }) ?? context;
      value = field.resolve(parent, field.argsFor?.(variables) ?? NO_ARGS, traced);
    } catch (error) {
      handleFieldError(error, field, slots, field.key, container, execution);
      if (container.isNulled) return;
      continue;
    }
    completeValue(value, field, slots, field.key, container, execution);
    if (container.isNulled) return;
  }
}

/** Writes the plain fields of an object. Returns false when a field is not loaded or its value needs serialization. */
export function writeLeafFields(
  { plain, isOfRecord }: Selection,
  parent: unknown,
  slots: ResultSlots,
  { meter }: ExecutionContext,
): boolean {
  if (plain.length === 0) return false;
  // Safe: the parents of plain fields have this shape.
  const source = isOfRecord ? (parent as LoadedRecord).loaded : (parent as LoadedRecord["loaded"]);
  let bytes = 0;
  let counted = 0;
  for (const { key, keyBytes, property, isPassThrough, isNullable } of plain) {
    const value = source[property];
    if (value === null ? !isNullable : !isPassThrough(value)) {
      meter.count(0, -counted);
      return false;
    }
    slots[key] = value;
    bytes += keyBytes + (value === null ? 0 : meter.sizeOf(value));
    if (bytes - counted < UNMEASURED_FIELD_BYTES) continue;
    // Bytes are counted before the end of the loop, because measuring a long string for each of hundreds of fields would take seconds.
    if (!meter.count(0, bytes - counted)) return true;
    counted = bytes;
  }
  return meter.count(plain.length, bytes - counted);
}

/** Plain fields are counted each time their size reaches this many bytes, before further fields are measured. */
const UNMEASURED_FIELD_BYTES = 1_000_000;

/** Completes a value, now or when its promise resolves, with the behaviour and messages of graphql-js. */
export function completeValue(
  value: unknown,
  position: ValuePosition,
  slots: ResultSlots,
  at: string | number,
  above: Container,
  execution: ExecutionContext,
): void {
  if (!(value instanceof Promise)) {
    try {
      // As in graphql-js, an `Error` as a value counts as thrown.
      if (value instanceof Error) throw value;
      if (value !== null && value !== undefined) position.complete(value, slots, at, above, execution);
      else if (position.isNullable) slots[at] = null;
      else throw new Error(`Cannot return null for non-nullable field ${position.coordinate}.`);
    } catch (error) {
      handleFieldError(error, position, slots, at, above, execution);
    }
    return;
  }
  // Reserves the position of this key in the order of the object's keys.
  slots[at] = null;
  execution.pending++;
  void value.then(
    (given: unknown) =>
      runOrQueue(execution, () => {
        completeValue(computed(given), position, slots, at, above, execution);
        endPending(execution);
      }),
    (error: unknown) => {
      handleFieldError(error, position, slots, at, above, execution);
      endPending(execution);
    },
  );
}

/** Computes a lazy value. Returns a thrown error, because an error as a value counts as thrown. */
function computed(given: unknown): unknown {
  try {
    return given instanceof LazyValue ? given.compute() : given;
  } catch (error) {
    return error;
  }
}

/** Runs work in this time slice if it is not over. Otherwise queues the work for a later slice. */
function runOrQueue(execution: ExecutionContext, work: () => void): void {
  const { meter } = execution;
  if (meter.isStopped) return;
  if (!meter.isWaiting() && !shouldYield()) work();
  else meter.queue(work);
}

/** Schedules work for a later time slice. The execution is not complete before the work is done. */
export function scheduleWork(execution: ExecutionContext, work: () => void): void {
  execution.pending++;
  runOrQueue(execution, () => {
    work();
    endPending(execution);
  });
}

/** Marks one pending value as done. */
export function endPending(execution: ExecutionContext): void {
  if (--execution.pending === 0) execution.onEnd();
}

/** Reports an error and propagates null to the value itself or its nearest nullable ancestor. */
function handleFieldError(
  error: unknown,
  { nodes, isNullable }: ValuePosition,
  slots: ResultSlots,
  at: string | number,
  above: Container,
  execution: ExecutionContext,
): void {
  if (execution.meter.isStopped || isDropped(above)) return;
  if (execution.onError === "HALT") return execution.halt(locate(error, nodes, at, above));
  const isNull = isNullable || execution.onError === "NULL";
  // Errors that say `outcome: unknown` are reported even above the limit.
  if (execution.meter.countError() || hasOutcome(error)) {
    const located = locate(error, nodes, at, above);
    if (!execution.meter.countNames(located.path ?? [])) return;
    execution.errors.push(located);
  }
  if (isNull) return void (slots[at] = null);
  for (let container: Container | null = above; container; container = container.parent) {
    container.isNulled = true;
    if (!container.isNullable) continue;
    container.slots[container.at] = null;
    return;
  }
}

/** Whether a container, or one above it, has become null. */
export function isDropped(above: Container): boolean {
  for (let container: Container | null = above; container; container = container.parent)
    if (container.isNulled) return true;
  return false;
}

const locate = (
  error: unknown,
  nodes: ValuePosition["nodes"],
  at: string | number,
  above: Container,
): GraphQLError => withoutStack(() => locatedError(error, [...nodes], [...pathOf(above), at]));

export function pathOf(innermost: Container): (string | number)[] {
  const path: (string | number)[] = [];
  for (let container = innermost; container.parent; container = container.parent) path.unshift(container.at);
  return path;
}
