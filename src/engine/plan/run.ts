import { type GraphQLError, locatedError } from "graphql";
import { hasOutcome, BatchItemError, withoutStack } from "../../errors.ts";
import { LazyValue, type LoadedRecord } from "../field-extensions.ts";
import { shouldYield } from "../scheduler.ts";
import type { Container, PlannedField, Run, Selection, ValuePosition, ResultSlots } from "./types.ts";

/*
 * Runs a plan. Each value is written into its slot of the result, promises when they resolve; a counter of pending
 * values detects completion. Work is divided into time slices, so that a large result does not block the event loop, and
 * ends when the meter stops it.
 */

/** Heap of a read that is started for a field, counted as bytes of JSON: its promise, and what waits for it. */
export const CHILD_BYTES = 1_500;

export const NO_ARGS = {};

/** Resolves and completes the fields of an object into its slots. */
export function runFields(
  selection: Selection,
  parent: unknown,
  container: Container,
  slots: ResultSlots,
  run: Run,
): void {
  const fields = writeLeafFields(selection, parent, slots, run) ? selection.others : selection.fields;
  resolveFields(fields, parent, container, slots, run);
}

function resolveFields(
  fields: readonly PlannedField[],
  parent: unknown,
  container: Container,
  slots: ResultSlots,
  run: Run,
): void {
  let resolved = 0;
  for (const field of fields) {
    // A value or an argument may be megabytes long, and hundreds of fields may walk it.
    if (resolved > 0 && shouldYield())
      return defer(run, () => {
        if (!container.isNulled) resolveFields(fields.slice(resolved), parent, container, slots, run);
      });
    resolved++;
    if (!run.meter.count(1, field.keyBytes)) return;
    if (field.child && !run.meter.chargeMemory(CHILD_BYTES)) return;
    const { variables, context } = run;
    let value: unknown;
    try {
      const traced = context.at?.({ parent: container, at: field.key }) ?? context;
      value = field.resolve(parent, field.argsFor?.(variables) ?? NO_ARGS, traced);
    } catch (error) {
      fail(error, field, slots, field.key, container, run);
      if (container.isNulled) return;
      continue;
    }
    completeAsync(value, field, slots, field.key, container, run);
    if (container.isNulled) return;
  }
}

/** Writes the plain fields of an object. Returns false when one of them is not loaded or needs more than that. */
export function writeLeafFields(
  { plain, isOfRecord }: Selection,
  parent: unknown,
  slots: ResultSlots,
  { meter }: Run,
): boolean {
  if (plain.length === 0) return false;
  // Safe: fields with a property have such parents.
  const source = isOfRecord ? (parent as LoadedRecord).loaded : (parent as LoadedRecord["loaded"]);
  let bytes = 0;
  let counted = 0;
  for (const { key, keyBytes, property, isAsIs, isNullable } of plain) {
    const value = source[property];
    if (value === null ? !isNullable : !isAsIs(value)) {
      meter.count(0, -counted);
      return false;
    }
    slots[key] = value;
    bytes += keyBytes + (value === null ? 0 : meter.sizeOf(value));
    if (bytes - counted < UNMEASURED_FIELD_BYTES) continue;
    // To measure a long text for each of hundreds of fields takes seconds.
    if (!meter.count(0, bytes - counted)) return true;
    counted = bytes;
  }
  return meter.count(plain.length, bytes - counted);
}

/** Bytes of plain fields that are counted before further ones are measured. */
const UNMEASURED_FIELD_BYTES = 1_000_000;

/** Completes a value, now or when its promise resolves, with the behaviour and messages of graphql-js. */
export function completeAsync(
  value: unknown,
  position: ValuePosition,
  slots: ResultSlots,
  at: string | number,
  above: Container,
  run: Run,
): void {
  if (!(value instanceof Promise)) {
    try {
      // As in graphql-js, an `Error` as a value counts as thrown.
      if (value instanceof Error) throw value;
      if (value !== null && value !== undefined) position.complete(value, slots, at, above, run);
      else if (position.isNullable) slots[at] = null;
      else throw new Error(`Cannot return null for non-nullable field ${position.coordinate}.`);
    } catch (error) {
      fail(error, position, slots, at, above, run);
    }
    return;
  }
  // Keeps its position among the keys.
  slots[at] = null;
  run.pending++;
  void value.then(
    (given: unknown) =>
      runOrQueue(run, () => {
        completeAsync(computed(given), position, slots, at, above, run);
        end(run);
      }),
    (error: unknown) => {
      fail(error, position, slots, at, above, run);
      end(run);
    },
  );
}

/** The resolved value of a field. An error is returned, and counts as thrown. */
function computed(given: unknown): unknown {
  try {
    return given instanceof LazyValue ? given.compute() : given;
  } catch (error) {
    return error;
  }
}

/** Does pending work in this time slice, or queues it for a later one. */
function runOrQueue(run: Run, work: () => void): void {
  const { meter } = run;
  if (meter.isStopped) return;
  if (!meter.isWaiting() && !shouldYield()) work();
  else meter.queue(work);
}

/** Adds work for a later time slice to the pending work of the run. */
export function defer(run: Run, work: () => void): void {
  run.pending++;
  runOrQueue(run, () => {
    work();
    end(run);
  });
}

/** Marks one pending value as done. */
export function end(run: Run): void {
  if (--run.pending === 0) run.onEnd();
}

/** Reports an error and propagates null to the value itself or its nearest nullable ancestor. */
function fail(
  error: unknown,
  { nodes, isNullable }: ValuePosition,
  slots: ResultSlots,
  at: string | number,
  above: Container,
  run: Run,
): void {
  if (run.meter.isStopped || isDropped(above)) return;
  if (run.onError === "HALT") {
    const whole = error instanceof BatchItemError ? error.ofAll() : error;
    return run.halt(locate(whole, nodes, at, above));
  }
  const isNull = isNullable || run.onError === "NULL";
  // Errors with an unknown outcome are reported even above the limit.
  if (run.meter.countError() || hasOutcome(error)) {
    const located = locate(error, nodes, at, above);
    if (!run.meter.countNames(located.path ?? [])) return;
    run.errors.push(located);
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
