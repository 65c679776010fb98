/** What the outcome of a request shows about the service, for the circuit breaker: `down` counts as an outage, `up` against one. */
export type UpstreamHealth = "up" | "down" | "unknown";

interface ErrorCodeRow {
  /** HTTP status of a response that contains only this error. GraphQL results with `data` are 200. */
  readonly status: number;
  /** What it shows about the service. When absent, nothing. */
  readonly service?: "up" | "down";
  /** Whether reads are retried; `after `Retry-After``: after the pauses that the service names, as long as they end before the deadline. Never when absent. */
  readonly retry?: "with backoff" | "after `Retry-After`";
  /**
   * How a batch continues when its list ends in this error: `refused`, the server does not accept the list's parameters;
   * `failed`, the single reads may still succeed. When absent, they would fail in the same way.
   */
  readonly batch?: "refused" | "failed";
  /** Whether the same read may succeed later: subscriptions survive it for a while. */
  readonly passes?: true;
}

/** Every value of `extensions.code`: docs/errors.md has what each means. No other table lists them all. */
const TABLE = {
  UNAUTHENTICATED: { status: 401, service: "up" },
  FORBIDDEN: { status: 403, service: "up" },
  BAD_CREDENTIALS: { status: 401, service: "up" },
  NOT_FOUND: { status: 404, service: "up" },
  BAD_USER_INPUT: { status: 400, service: "up", batch: "refused" },
  CONFLICT: { status: 409, service: "up" },
  RATE_LIMITED: { status: 429, service: "up", retry: "after `Retry-After`", passes: true },
  UPSTREAM_ERROR: { status: 502, service: "up", batch: "failed", passes: true },
  UPSTREAM_TIMEOUT: { status: 504, service: "down", passes: true },
  UPSTREAM_UNAVAILABLE: { status: 503, service: "down", retry: "with backoff", passes: true },
  UPSTREAM_BAD_RESPONSE: { status: 502, service: "up", batch: "failed", passes: true },
  UPSTREAM_UNSUPPORTED: { status: 502, service: "up", batch: "refused" },
  CAPABILITY_UNAVAILABLE: { status: 404 },
  REQUEST_LIMIT_EXCEEDED: { status: 400 },
  PAGE_LIMIT_REACHED: { status: 400 },
  SERVICE_OVERLOADED: { status: 503, passes: true },
  OPERATION_TOO_LARGE: { status: 400 },
  OPERATION_TOO_DEEP: { status: 400 },
  REQUEST_CANCELLED: { status: 499 },
  INTERNAL_SERVER_ERROR: { status: 500 },
  BAD_REQUEST: { status: 400 },
  OPERATION_RESOLUTION_FAILURE: { status: 400 },
  GRAPHQL_PARSE_FAILED: { status: 400 },
  GRAPHQL_VALIDATION_FAILED: { status: 400 },
  PERSISTED_QUERY_NOT_FOUND: { status: 404 },
  PERSISTED_QUERY_MISMATCH: { status: 400 },
  PERSISTED_QUERY_NOT_IN_LIST: { status: 400 },
  PERSISTED_QUERY_ID_REQUIRED: { status: 400 },
} as const satisfies Record<string, ErrorCodeRow>;

export type ErrorCode = keyof typeof TABLE;

export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeRow>> = TABLE;

/** The HTTP status of a response that holds only an error of this code. */
export const statusOf = (code: ErrorCode): number => ERROR_CODES[code].status;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(ERROR_CODES, code);

/** Invalid input from the caller. Nothing was sent. The message says what was expected, what came, and where. */
export class InputError extends RangeError {}

export interface ErrorDetails {
  /** The reference that could not be resolved. */
  readonly reference?: string;
  /** What the caller asked for may have been done, although it failed. */
  readonly outcome?: "unknown";
  /** The endpoint: `route` is its template, never the filled path. `status` is absent when there was no response. */
  readonly upstream?: { readonly method: string; readonly route: string; readonly status?: number };
  readonly retryAfterSeconds?: number;
  /** What became of each of several, in the order of their ids. */
  readonly outcomes?: readonly string[];
  /** Number of requests that were not sent because the operation had reached its limit. */
  readonly unsentRequests?: number;
}

/**
 * A failure that callers see with its own code: of the service, or of a limit. Its message and facts are safe to expose to them. It has
 * no stack, as errors by `withoutStack`.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.details = details;
  }

  /** The same failure with the reference that led to it. */
  of(reference: string): GatewayError {
    return new GatewayError(this.code, this.message, { ...this.details, reference }, this);
  }
}

/** The failure of one of several commands. If it ends the operation, it lists the outcomes of all of them. */
export class BatchItemError extends GatewayError {
  readonly #outcomes: readonly string[];

  constructor(failure: GatewayError, outcomes: readonly string[]) {
    super(failure.code, failure.message, failure.details, failure);
    this.#outcomes = outcomes;
  }

  ofAll(): GatewayError {
    return new GatewayError(this.code, this.message, { ...this.details, outcomes: this.#outcomes });
  }
}

/** A response, or a list in it, that is longer than what is read of one. The same read fails again; one for fewer items may succeed. */
export class ResponseTooLargeError extends Error {
  constructor(limit: number, unit: "bytes" | "items" = "bytes") {
    super(`longer than ${limit} ${unit}`);
  }
}

export const isTooLarge = (error: unknown): boolean =>
  error instanceof ResponseTooLargeError || (error instanceof GatewayError && isTooLarge(error.cause));

/** The deadline of the caller's request passed, or will pass before it can be sent. It shows nothing about the service. */
export class DeadlineError extends GatewayError {}

/** The caller closed the connection before the response. */
export class CancelledError extends Error {}

/**
 * Creates an error without a stack. Nobody reads that of one that is sent, and it is nearly all that an error costs: an operation may have
 * thousands.
 */
export function withoutStack<Created extends Error>(create: () => Created): Created {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The code of an error of Node or OpenSSL: `EADDRINUSE`. */
export const systemCodeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown";

/** What `act` returns; undefined where it throws, for whatever reason. */
export function tryTo<Value>(act: () => Value): Value | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

export const OVERLOADED = "The gateway is overloaded; try again later.";

/** Whether an error is a failure with one of these codes. */
export const isGatewayError = (error: unknown, ...codes: readonly ErrorCode[]): error is GatewayError =>
  error instanceof GatewayError && codes.includes(error.code);

/** Whether an error says that what was asked for may have been done. */
export const hasOutcome = (error: unknown): boolean =>
  error instanceof GatewayError && error.details.outcome !== undefined;

const rowOf = (error: unknown): ErrorCodeRow | null =>
  error instanceof GatewayError ? ERROR_CODES[error.code] : null;

export const healthImpliedBy = (error: unknown): UpstreamHealth =>
  (error instanceof DeadlineError ? null : rowOf(error)?.service) ?? "unknown";

/** How a failed read is retried; null when it is not. */
export const retryOf = (error: unknown): ErrorCodeRow["retry"] | null => rowOf(error)?.retry ?? null;

/** Whether the same read may succeed later. */
export const isTransient = (error: unknown): error is GatewayError => rowOf(error)?.passes === true;

/** Whether the service gives no usable response for now, so that the last known one may answer. */
export const mayServeStale = (error: unknown): boolean =>
  isTransient(error) && error.code !== "SERVICE_OVERLOADED" && !isTooLarge(error);

/** Whether a failure is the operation's own: its end, or one of its limits. The request may succeed for others. */
export const isCallerSide = (error: unknown): boolean =>
  error instanceof CancelledError || (error instanceof GatewayError && healthImpliedBy(error) === "unknown");

/** How a batch continues after the error of its list; null when the single reads would fail in the same way. */
export const batchFallbackOf = (error: unknown): ErrorCodeRow["batch"] | null => rowOf(error)?.batch ?? null;
