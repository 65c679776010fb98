import type { GraphQLError } from "graphql";
import { CancelledError } from "../errors.ts";
import type { MemoryReservation, MemoryBudget } from "../callers/memory-budget.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { overloaded, tooLarge } from "./errors.ts";
import type { TaskQueue, Scheduler } from "./scheduler.ts";

interface ResultLimits {
  /** Maximum fields and list items. */
  readonly fields: number;
  /** Maximum size as JSON, in bytes. Escapes in short strings are counted only above an eighth of the limit. */
  readonly bytes: number;
}

export interface MeterSettings {
  readonly limits: ResultLimits;
  readonly scheduler: Scheduler;
  /** The budget to which the memory of the operation is charged until its scope ends. */
  readonly memoryBudget: MemoryBudget;
}

/**
 * Maximum errors of one result: one for each item of the longest page. An error takes as long as hundreds of fields. Above the limit,
 * failed fields are null without an error.
 */
const MAX_ERRORS = 500;

/** Assumed size of a number, a boolean or null as JSON. */
const BYTES_PER_VALUE = 12;

const SHORT_STRING_LENGTH = 100;

/** Matches a character that takes more than one byte in JSON. A control character takes six. */
const LONGER_IN_JSON = /[^ !#-[\]-~]/;

/** Size of a value as JSON, in bytes. The size of numbers is approximate. */
function sizeOf(value: unknown): number {
  if (typeof value === "string")
    return LONGER_IN_JSON.test(value) ? Buffer.byteLength(JSON.stringify(value)) : value.length + 2;
  if (typeof value !== "object" || value === null) return BYTES_PER_VALUE;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item) + 1;
  else for (const key in value) size += sizeOf(key) + sizeOf(value[key as keyof typeof value]) + 2;
  return size;
}

/**
 * Memory of a field or list item until the result is sent: 60 to 80 bytes of the heap, which are half as many units of the memory budget.
 */
const RESULT_FIELD_BYTES = 35;
/** Memory for each byte of the result while it is encoded: a string, with one or two bytes per character, and its UTF-8. */
const ENCODED_COPIES = 2;
/**
 * Number of fields after which the memory of the result is charged again. `BYTES_PER_CHARGE`: number of bytes. Most results are smaller and
 * are never charged.
 */
const FIELDS_PER_CHARGE = 2_000;
const BYTES_PER_CHARGE = 262_144;

/** Time that an operation may still compute after its deadline, in milliseconds. */
const COMPUTING_MS = 5_000;

/** Measures the result of one operation while it is completed, stops the operation above the limits, and divides its work into time slices. */
export class Meter {
  /**
   * Number of fields and list items so far. `bytes`: their size as JSON. `errors`: number of failed fields. Only the meter changes these.
   */
  fields = 0;
  bytes = 0;
  errors = 0;
  isStopped = false;
  readonly #limits: ResultLimits;
  readonly #scope: RequestScope;
  readonly #memoryBudget: MemoryBudget;
  readonly #queue: TaskQueue;
  #reservation: MemoryReservation | null = null;
  /** The fields and bytes whose memory is charged. */
  #chargedFields = 0;
  #chargedBytes = 0;
  /** The last long string that was measured. It is remembered because a result may contain the same string many times. */
  #measured = "";
  #measuredBytes = 0;
  /** The number of errors that was last reported. */
  #reported = 0;
  #reason: unknown;
  #onStop: (reason: unknown) => void = () => {};

  /** Measures the operation of a scope, and stops it when the caller disconnects. */
  constructor(scope: RequestScope, { limits, scheduler, memoryBudget }: MeterSettings) {
    this.#limits = limits;
    this.#scope = scope;
    this.#memoryBudget = memoryBudget;
    this.#queue = scheduler.queueOf(scope.caller);
    scope.onEnd(() => {
      if (scope.ended === "disconnected") this.stop(new CancelledError("The caller left."));
      if (scope.ended === "preempted") this.stop(overloaded());
      if (scope.ended === "deadline") setTimeout(() => this.#stopComputing(), COMPUTING_MS).unref();
    });
  }

  /** Stops the operation if it is still computing `COMPUTING_MS` after its deadline, when no more reads are possible. */
  #stopComputing(): void {
    if (this.isWaiting()) this.stop(tooLarge("Expected a result that can be computed before the deadline."));
  }

  /** Counts fields and bytes. Returns false when the operation is stopped. */
  count(fields: number, bytes: number): boolean {
    if (this.isStopped) return false;
    this.fields += fields;
    this.bytes += bytes;
    const limits = this.#limits;
    if (this.fields <= limits.fields && this.bytes <= limits.bytes)
      return (
        (this.fields - this.#chargedFields < FIELDS_PER_CHARGE &&
          this.bytes - this.#chargedBytes < BYTES_PER_CHARGE) ||
        this.#chargeResult()
      );
    const limit =
      this.fields > limits.fields ? `${limits.fields} fields and list items` : `${limits.bytes} bytes`;
    this.stop(tooLarge(`Expected a result of at most ${limit}, got more.`));
    return false;
  }

  /**
   * Whether sizes include the escapes of short strings. Finding the escapes of a string takes longer than completing it. Escapes multiply a
   * size by six at most, so a result below an eighth of the limit is below the limit with its escapes as well.
   */
  get isExact(): boolean {
    return this.bytes > this.#limits.bytes / 8;
  }

  /** Size of a leaf as JSON, in bytes. */
  sizeOf(value: unknown): number {
    if (typeof value !== "string") return sizeOf(value);
    if (value.length < SHORT_STRING_LENGTH) return this.isExact ? sizeOf(value) : value.length + 2;
    if (value !== this.#measured) {
      this.#measured = value;
      this.#measuredBytes = sizeOf(value);
    }
    return this.#measuredBytes;
  }

  /**
   * Counts names from the request that the response repeats outside its data: the keys of a path, and a label. Aliases and labels can be as
   * long as the document. Returns false when the operation is stopped.
   */
  countNames(path: readonly (string | number)[], label: string | null = null): boolean {
    return this.count(0, sizeOf(path) + (label === null ? 0 : sizeOf(label)));
  }

  /** Charges memory that the operation uses in addition to the fields of its result. Returns false if the operation is stopped. */
  chargeMemory(bytes: number): boolean {
    if (this.isStopped) return false;
    try {
      (this.#reservation ??= this.#memoryBudget.open(this.#scope)).charge(bytes);
      return true;
    } catch (error) {
      this.stop(error);
      return false;
    }
  }

  #chargeResult(): boolean {
    const fields = this.fields - this.#chargedFields;
    const bytes = this.bytes - this.#chargedBytes;
    this.#chargedFields = this.fields;
    this.#chargedBytes = this.bytes;
    return this.chargeMemory(fields * RESULT_FIELD_BYTES + bytes * ENCODED_COPIES);
  }

  /** Counts a failed field. Returns false when there are too many errors to add another. */
  countError(): boolean {
    return ++this.errors <= MAX_ERRORS;
  }

  /** Adds an error that reports the total number of errors, if some errors of a result or payload were left out. */
  withCount(errors: readonly GraphQLError[]): GraphQLError[] {
    if (this.errors <= Math.max(MAX_ERRORS, this.#reported)) return [...errors];
    this.#reported = this.errors;
    const message = `Expected at most ${MAX_ERRORS} errors, got ${this.errors}: the others are left out.`;
    return [...errors, tooLarge(message)];
  }

  /** Runs the work in a later time slice, unless the operation is stopped by then. */
  queue(work: () => void): void {
    if (!this.isStopped) this.#queue.add(work);
  }

  /** Whether work is queued. That work may start more reads. */
  isWaiting(): boolean {
    return !this.#queue.isEmpty();
  }

  /** Calls back when the queue is empty; never after the operation is stopped. */
  onIdle(callback: () => void): void {
    this.#queue.onEmpty(callback);
  }

  /** Stops the operation and drops its queued work. */
  stop(reason: unknown): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.#reason = reason;
    this.#queue.clear();
    this.#onStop(reason);
  }

  /** Calls back when the operation is stopped, immediately if it is stopped already. */
  onStop(callback: (reason: unknown) => void): void {
    if (this.isStopped) callback(this.#reason);
    else this.#onStop = callback;
  }
}
