/**
 * The health of the upstream service that the outcome of a request implies. For the circuit breaker, `down` counts as a failure and `up` as
 * a success.
 */
export type UpstreamHealth = "up" | "down" | "unknown";

interface ErrorCodeRow {
  /** The meaning of the code and what to do, in Markdown: for the schema and docs/errors.md. */
  readonly meaning: string;
  /** HTTP status of a response that contains only this error. GraphQL results with `data` are 200. */
  readonly status: number;
  /** The health of the upstream service that the error implies; absent if it implies nothing. */
  readonly service?: "up" | "down";
  /**
   * How reads are retried; absent if they are not retried. With `after `Retry-After``, a read is retried after the pause that the service
   * requests, provided that the pause ends before the deadline.
   */
  readonly retry?: "with backoff" | "after `Retry-After`";
  /**
   * The meaning of the error if the list request of a batch fails with it. `refused`: the server does not accept the list's parameters.
   * `failed`: the single reads may still succeed. Absent if the single reads would fail in the same way.
   */
  readonly batch?: "refused" | "failed";
  /** Whether the same read may succeed later, so that subscriptions try again for a while. */
  readonly passes?: true;
}

/** Every value of `extensions.code`. No other table lists all of them. */
const TABLE = {
  UNAUTHENTICATED: {
    status: 401,
    service: "up",
    meaning: "The request has no token, or the service rejects it. Log in and send the new token.",
  },
  FORBIDDEN: { status: 403, service: "up", meaning: "The service does not allow the user to do this." },
  BAD_CREDENTIALS: {
    status: 401,
    service: "up",
    meaning: "The service rejected the login. Ask for the password again.",
  },
  NOT_FOUND: { status: 404, service: "up", meaning: "The record does not exist." },
  BAD_USER_INPUT: {
    status: 400,
    service: "up",
    batch: "refused",
    meaning:
      "The gateway or the service rejected an argument or variable. If it was the gateway, nothing was changed. Correct the input.",
  },
  CONFLICT: {
    status: 409,
    service: "up",
    meaning:
      "The state of the record does not allow this, or its `uuid` differs from `ifUuid`. If the `uuid` differs, nothing was sent. Read the record again.",
  },
  RATE_LIMITED: {
    status: 429,
    service: "up",
    retry: "after `Retry-After`",
    passes: true,
    meaning:
      "The service throttles requests, or this token has reached its maximum number of concurrent operations. Try again after `retryAfterSeconds`. If a pause ends before the deadline of a read, the read waits for it and is then retried. The reads that cannot meet the deadline of their operation have one common error, which lists their `paths`.",
  },
  UPSTREAM_ERROR: {
    status: 502,
    service: "up",
    batch: "failed",
    passes: true,
    meaning: "The service failed.",
  },
  UPSTREAM_TIMEOUT: {
    status: 504,
    service: "down",
    passes: true,
    meaning:
      "The service did not respond in time. With `outcome: unknown` a write may have taken effect: read before you repeat it.",
  },
  UPSTREAM_UNAVAILABLE: {
    status: 503,
    service: "down",
    retry: "with backoff",
    passes: true,
    meaning:
      "The service cannot be reached or is not ready. Reads were retried. Try again later. With `outcome: unknown` a write may have taken effect: read before you repeat it.",
  },
  UPSTREAM_BAD_RESPONSE: {
    status: 502,
    service: "up",
    batch: "failed",
    passes: true,
    meaning: "The response of the service is invalid, or exceeds `MAX_JSON_BYTES` or 100,000 items.",
  },
  UPSTREAM_UNSUPPORTED: {
    status: 502,
    service: "up",
    batch: "refused",
    meaning: "This server does not offer the operation.",
  },
  CAPABILITY_UNAVAILABLE: {
    status: 404,
    meaning:
      "The field needs a capability that this server does not have. `gateway.capabilities` lists those that it has.",
  },
  REQUEST_LIMIT_EXCEEDED: {
    status: 400,
    meaning:
      "The operation exceeds its limit of upstream requests, or its limit of memory for responses, its document and the state of a subscription. Data that was read is returned. The reads that the largest number of fields need are sent first. `unsentRequests` counts the requests that were not sent. Select less at once.",
  },
  PAGE_LIMIT_REACHED: {
    status: 400,
    meaning:
      "A field would read more than 100 pages: request fewer items at once. Or too many rows have equal sort keys, so they cannot be read page by page: use larger pages or another order.",
  },
  SERVICE_OVERLOADED: { status: 503, passes: true, meaning: "The gateway is overloaded. Try again later." },
  OPERATION_TOO_LARGE: {
    status: 400,
    meaning: "The request or its result has more tokens, fields or bytes than allowed. Select less at once.",
  },
  OPERATION_TOO_DEEP: { status: 400, meaning: "The document is nested deeper than `MAX_DEPTH`." },
  REQUEST_CANCELLED: { status: 499, meaning: "The client closed the connection." },
  INTERNAL_SERVER_ERROR: { status: 500, meaning: "The gateway has a bug. Report it with the `requestId`." },
  BAD_REQUEST: {
    status: 400,
    meaning:
      "The request is not a GraphQL request: invalid JSON or UTF-8, no query, a parameter with a wrong type or given twice, or a batch. Also for a mutation by GET, for a type of operation that a tool does not run, and at `/mcp` for a page of another origin.",
  },
  OPERATION_RESOLUTION_FAILURE: {
    status: 400,
    meaning:
      "`operationName` is not an operation of the document, or is missing although the document has several.",
  },
  GRAPHQL_PARSE_FAILED: { status: 400, meaning: "The document has a syntax error." },
  GRAPHQL_VALIDATION_FAILED: { status: 400, meaning: "The document is not valid against the schema." },
  PERSISTED_QUERY_NOT_FOUND: {
    status: 404,
    meaning: "The hash is unknown, or no longer known. Send the document with it.",
  },
  PERSISTED_QUERY_MISMATCH: { status: 400, meaning: "The hash does not match the document." },
  PERSISTED_QUERY_NOT_IN_LIST: {
    status: 400,
    meaning: "Only trusted documents run here, and the hash does not belong to any of them.",
  },
  PERSISTED_QUERY_ID_REQUIRED: {
    status: 400,
    meaning: "Only trusted documents run here. Send the hash of one instead of a document.",
  },
} as const satisfies Record<string, ErrorCodeRow>;

export type ErrorCode = keyof typeof TABLE;

export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeRow>> = TABLE;

/** The HTTP status of a response that contains only an error of this code. */
export const statusOf = (code: ErrorCode): number => ERROR_CODES[code].status;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(ERROR_CODES, code);

/**
 * An expected error, without a stack. Capturing the stack is nearly the whole cost of an error, and an operation may have thousands of
 * errors. Until it is read, a stack also keeps the receivers of its calls in memory, such as the body of a response.
 */
export class StacklessError extends Error {
  constructor(message?: string, cause?: unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Invalid input from the caller. No command was sent upstream. The message names the argument, the expected value and the received value. */
export class InputError extends StacklessError {}

export interface ErrorDetails {
  /** The reference that could not be resolved. */
  readonly reference?: string;
  /** Set if the requested change may have been made although the request failed. */
  readonly outcome?: "unknown";
  /** The upstream request: `route` is the template of the path, never the filled path. `status` is absent if there was no response. */
  readonly upstream?: { readonly method: string; readonly route: string; readonly status?: number };
  readonly retryAfterSeconds?: number;
  /** Number of requests that were not sent because the operation had reached its limit. */
  readonly unsentRequests?: number;
}

/**
 * A failure that callers see with its own code: a failure of the upstream service, or an exceeded limit. The message and the details are safe
 * to expose to callers.
 */
export class GatewayError extends StacklessError {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause);
    this.code = code;
    this.details = details;
  }

  /** The same failure with the reference that led to it. */
  of(reference: string): GatewayError {
    return new GatewayError(this.code, this.message, { ...this.details, reference }, this);
  }
}

/** A response, or a list in a response, exceeds its limit. The same read fails again; a read of fewer items may succeed. */
export class ResponseTooLargeError extends StacklessError {
  constructor(limit: number, unit: "bytes" | "items" = "bytes") {
    super(`longer than ${limit} ${unit}`);
  }
}

export const isTooLarge = (error: unknown): boolean =>
  error instanceof ResponseTooLargeError || (error instanceof GatewayError && isTooLarge(error.cause));

/**
 * The deadline of the caller's request has passed, or would pass before an upstream request can be sent. Implies nothing about the health
 * of the service.
 */
export class DeadlineError extends GatewayError {}

/** The caller closed the connection before the response. */
export class CancelledError extends StacklessError {}

/** Creates an error of another module without a stack, for the reasons of `StacklessError`. */
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

/** Returns the result of `act`; undefined if `act` throws. */
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

/** Whether an error shows that the requested change may have been made. */
export const hasOutcome = (error: unknown): boolean =>
  error instanceof GatewayError && error.details.outcome !== undefined;

const rowOf = (error: unknown): ErrorCodeRow | null =>
  error instanceof GatewayError ? ERROR_CODES[error.code] : null;

export const healthImpliedBy = (error: unknown): UpstreamHealth =>
  (error instanceof DeadlineError ? null : rowOf(error)?.service) ?? "unknown";

/** How a failed read is retried; null if it is not retried. */
export const retryOf = (error: unknown): ErrorCodeRow["retry"] | null => rowOf(error)?.retry ?? null;

/** Whether the same read may succeed later. */
export const isTransient = (error: unknown): error is GatewayError => rowOf(error)?.passes === true;

/** Whether the upstream service has no usable response for now, so a stale response may be served. */
export const mayServeStale = (error: unknown): boolean =>
  isTransient(error) && error.code !== "SERVICE_OVERLOADED" && !isTooLarge(error);

/**
 * Whether a failure is caused by the operation itself, because it has ended or reached one of its limits. The read may succeed for other
 * operations.
 */
export const isCallerSide = (error: unknown): boolean =>
  error instanceof CancelledError || (error instanceof GatewayError && healthImpliedBy(error) === "unknown");

/** How a batch continues after its list request has failed; null when the single reads would fail in the same way. */
export const batchFallbackOf = (error: unknown): ErrorCodeRow["batch"] | null => rowOf(error)?.batch ?? null;
