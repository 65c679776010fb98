import type { GraphQLError } from "graphql";
import { CancelledError } from "../errors.ts";
import type { MemoryReservation, MemoryBudget } from "../callers/memory-budget.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { overloaded, tooLarge } from "./errors.ts";
import type { TaskQueue, Scheduler } from "./scheduler.ts";

interface ResultLimits {
  /** Maximum fields and list items. */
  readonly fields: number;
  /** Maximum bytes as JSON. What short strings add by escapes is not counted in the first eighth. */
  readonly bytes: number;
}

export interface MeterSettings {
  readonly limits: ResultLimits;
  readonly scheduler: Scheduler;
  /** Counts the memory that the operation takes until it has ended. */
  readonly memoryBudget: MemoryBudget;
}

/**
 * Maximum errors of one result: one per item of the longest page. Each costs as much as hundreds of fields. Further fields that
 * fail are null without an error.
 */
const MAX_ERRORS = 500;

/** A number, a boolean or null. */
const BYTES_PER_VALUE = 12;

/** Length of a short string, in characters. */
const SHORT_STRING_LENGTH = 100;

/** A character of a string that takes more than a byte in JSON: a control character six. */
const LONGER_IN_JSON = /[^ !#-[\]-~]/;

/** Size of a value as JSON, in bytes; about that of numbers. */
function sizeOf(value: unknown): number {
  if (typeof value === "string")
    return LONGER_IN_JSON.test(value) ? Buffer.byteLength(JSON.stringify(value)) : value.length + 2;
  if (typeof value !== "object" || value === null) return BYTES_PER_VALUE;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item) + 1;
  else for (const key in value) size += sizeOf(key) + sizeOf(value[key as keyof typeof value]) + 2;
  return size;
}

/** Heap of a field or list item until the result is sent, counted as bytes of JSON. Measured: 60 to 80 bytes. */
const RESULT_FIELD_BYTES = 35;
/** Memory of a byte of the result while it is encoded: a string of one or two bytes a character, and its UTF-8. */
const ENCODED_COPIES = 2;
/** Fields, and bytes, between two counts of their memory: most operations have fewer and count none. */
const FIELDS_PER_CHARGE = 2_000;
const BYTES_PER_CHARGE = 262_144;

/** Time that an operation may still compute after its deadline, in milliseconds. */
const COMPUTING_MS = 5_000;

/** Measures the result of one operation while it is completed, stops it above the limits and divides it into time slices. */
export class Meter {
  /** Fields and list items, bytes as JSON, and failed fields so far. Only the meter changes them. */
  fields = 0;
  bytes = 0;
  errors = 0;
  isStopped = false;
  readonly #limits: ResultLimits;
  readonly #scope: RequestScope;
  readonly #memoryBudget: MemoryBudget;
  readonly #queue: TaskQueue;
  #reservation: MemoryReservation | null = null;
  /** The fields and bytes whose memory is counted. */
  #chargedFields = 0;
  #chargedBytes = 0;
  /** The last string that was measured by its JSON, of which a result may have many. */
  #measured = "";
  #measuredBytes = 0;
  /** How many errors there were when that was last reported. */
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

  /** After the deadline nothing more is read, and the result must be computed soon. */
  #stopComputing(): void {
    if (this.isWaiting()) this.stop(tooLarge("Expected a result that is computed in time, got more."));
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
   * Whether sizes include the escapes of short strings: finding them takes longer than completing the strings. Escapes multiply a
   * size by six at most, so that a result below an eighth of the limit is below the limit with all of them.
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
   * Counts names of the request that the answer repeats beside its data: the keys of a path, and a label. Aliases and labels can be as
   * long as the document. Returns false when the operation is stopped.
   */
  countNames(path: readonly (string | number)[], label: string | null = null): boolean {
    return this.count(0, sizeOf(path) + (label === null ? 0 : sizeOf(label)));
  }

  /** Counts memory for what the operation makes besides fields of its result. Returns false when it is stopped. */
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

  /** Counts a failed field. Returns false when its error is above the limit. */
  countError(): boolean {
    return ++this.errors <= MAX_ERRORS;
  }

  /** The errors of a result, or of a part of it, and how many there are when some are left out. */
  withCount(errors: readonly GraphQLError[]): GraphQLError[] {
    if (this.errors <= Math.max(MAX_ERRORS, this.#reported)) return [...errors];
    this.#reported = this.errors;
    const message = `Expected at most ${MAX_ERRORS} errors, got ${this.errors}: the others are left out.`;
    return [...errors, tooLarge(message)];
  }

  /** Does the work in a time slice. Never does it after the operation is stopped, so no more work or errors follow. */
  queue(work: () => void): void {
    if (!this.isStopped) this.#queue.add(work);
  }

  /** Whether work is queued. More reads may follow from it. */
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

  /** Calls back when the operation is stopped, immediately if it is. */
  onStop(callback: (reason: unknown) => void): void {
    if (this.isStopped) callback(this.#reason);
    else this.#onStop = callback;
  }
}
