/** A fault in what the caller gave: nothing was sent. The message says what was expected, what came, and where. */
export class InputError extends RangeError {}

/** Public codes of a failed exchange with the service. The README explains each. */
export type UpstreamCode =
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "BAD_CREDENTIALS"
  | "NOT_FOUND"
  | "BAD_USER_INPUT"
  | "CONFLICT"
  | "RATE_LIMITED"
  | "UPSTREAM_ERROR"
  | "UPSTREAM_TIMEOUT"
  | "UPSTREAM_UNAVAILABLE"
  | "UPSTREAM_BAD_RESPONSE"
  | "UPSTREAM_UNSUPPORTED"
  | "CAPABILITY_UNAVAILABLE"
  | "REQUEST_LIMIT_EXCEEDED"
  | "PAGE_LIMIT_REACHED"
  | "SERVICE_OVERLOADED";

export interface UpstreamFacts {
  /** Which row was asked; `route` is the template, never the filled path. `status` is absent without an answer. */
  readonly upstream?: { readonly method: string; readonly route: string; readonly status?: number };
  readonly retryAfterSeconds?: number;
  /** How many requests were not sent because the operation had its share. What they would have led to is not known. */
  readonly unsentRequests?: number;
  /** The dotted name that led nowhere. */
  readonly reference?: string;
  /** A command that was sent and whose answer is unknown: it may have happened. */
  readonly outcome?: "unknown";
}

/** What came of asking the service, when it is not the answer. Its message and facts are fit for callers. */
export class UpstreamError extends Error {
  readonly code: UpstreamCode;
  readonly facts: UpstreamFacts;

  constructor(code: UpstreamCode, message: string, facts: UpstreamFacts = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.facts = facts;
  }

  /** The same fault, told of the reference that led to it. */
  of(reference: string): UpstreamError {
    return new UpstreamError(this.code, this.message, { ...this.facts, reference }, this);
  }
}

/** Whether an error says that a command may have been done. */
export const hasOutcome = (fault: unknown): boolean =>
  fault instanceof UpstreamError && fault.facts.outcome !== undefined;

/** The time of the caller's whole request was over. It says nothing of the service. */
export class DeadlineError extends UpstreamError {}

/** The caller left before the answer: nobody is there to be told. */
export class Cancelled extends Error {}
