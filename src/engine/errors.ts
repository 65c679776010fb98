import { type ExecutionResult, GraphQLError, type GraphQLErrorExtensions, Kind } from "graphql";
import {
  CancelledError,
  type ErrorCode,
  GatewayError,
  InputError,
  isErrorCode,
  OVERLOADED,
  statusOf,
  type ErrorDetails,
  withoutStack,
} from "../errors.ts";
import type { EndReason } from "../callers/request-scope.ts";
import { locationsOf } from "./documents/parse.ts";

/**
 * Converts any error to the error that callers see. No other function does. Errors of unknown classes are masked in every NODE_ENV, because
 * their message, stack and cause can name hosts and paths. `onUnexpected` receives each of them, with the path of the failed field.
 */
export function publicError(
  error: unknown,
  onUnexpected: (error: unknown, path: GraphQLError["path"]) => void,
): GraphQLError {
  const located = error instanceof GraphQLError ? error : null;
  const cause = located ? located.originalError : error;
  const outcome = located?.extensions["outcome"] === "unknown" ? { outcome: "unknown" } : {};
  const convert = (message: string, extensions: GraphQLErrorExtensions & { readonly code: ErrorCode }) =>
    at(located, message, { ...extensions, ...outcome });

  if (cause instanceof GatewayError) {
    const { paths } = located?.extensions ?? {};
    const [selected] = located?.nodes ?? [];
    // The error names only the endpoint that the server lacks, so the field is added.
    const isNamed = cause.code === "CAPABILITY_UNAVAILABLE" && selected?.kind === Kind.FIELD;
    const message = isNamed ? `${selected.name.value}: ${cause.message}` : cause.message;
    return convert(message, { code: cause.code, ...cause.details, ...(paths ? { paths } : {}) });
  }
  if (cause instanceof InputError) return convert(cause.message, { code: "BAD_USER_INPUT" });
  if (cause instanceof CancelledError)
    return convert("The request was cancelled.", { code: "REQUEST_CANCELLED" });
  if (located && isOfGraphQL(cause)) {
    const { code: given, http } = located.extensions;
    const code = isErrorCode(given) ? given : "BAD_USER_INPUT";
    return convert(withoutValues(located), { code, ...(http ? { http } : {}) });
  }
  onUnexpected(cause, located?.path);
  return convert("Something went wrong in the gateway.", { code: "INTERNAL_SERVER_ERROR" });
}

/** Maximum length of the beginning and of the end of a message, in characters. The names and values in between may have any length. */
const MAX_END = 1_000;

const withoutMiddle = (message: string): string =>
  message.length <= 2 * MAX_END ? message : `${message.slice(0, MAX_END)} … ${message.slice(-MAX_END)}`;

/**
 * Removes values from GraphQL's own messages, which repeat invalid input, even a password. Keeps the location, the expected type, and
 * numbers where a number was expected. The value of a variable may have any length and content, so it is found by the text around it,
 * without a regular expression.
 */
function withoutValues({ message, originalError }: GraphQLError): string {
  const reason = originalError?.message;
  const start = message.indexOf(GOT);
  if (reason === undefined || start === -1 || !message.endsWith(`; ${reason}`)) return withoutValue(message);
  const given = message.slice(start + GOT.length, -`; ${reason}`.length);
  const end = given.endsWith('"') ? given.lastIndexOf(' at "') : -1;
  const [value, location] = end === -1 ? [given, ""] : [given.slice(0, end), given.slice(end)];
  const isNumber = /^(?:Int|Float) cannot/.test(reason) && /^-?[\d.]+$/.test(value);
  const kept = isNumber ? ` ${value}` : "";
  return `${message.slice(0, start)}${GOT.trimEnd()}${kept}${location}; ${withoutValue(reason)}`;
}

const GOT = " got invalid value ";

/** Each expression matches the part of a message before a value that the message repeats. */
const BEFORE_VALUES = [
  /^String cannot represent a non string value(?=:)/,
  /^(?:Enum "\w+"|\w+) cannot represent [^:]*(?=: *["{[])/,
  /^Expected value of type "[^"]+"(?=, found)/,
  /^Argument "\w+" has invalid value/,
  /^Syntax Error: (?:Unexpected|Expected (?:"[^"]+"|\w+), found) (?:String|BlockString|Int|Float)(?= ")/,
];

function withoutValue(whole: string): string {
  const message = withoutMiddle(whole);
  for (const expression of BEFORE_VALUES) {
    const [beginning] = expression.exec(message) ?? [];
    if (beginning !== undefined) return beginning;
  }
  return /^Unknown argument "(?:last|before)" /.test(message) ? `${message} ${FORWARD}` : message;
}

const FORWARD =
  "Lists can only be read forward. For the last items, reverse the `direction` of `order` if the list has one; logs have `tailLines`.";

/** The error of a document as callers see it. It has the given code and the status of that code, unless the error has its own. */
export const documentError = (error: GraphQLError, code: ErrorCode): GraphQLError =>
  at(error, withoutValues(error), {
    code,
    http: { spec: true, status: statusOf(code) },
    ...error.extensions,
  });

/** Whether graphql-js raised the error: syntax, validation, coercion of variables and scalars. Such errors quote only the request. */
function isOfGraphQL(cause: unknown): boolean {
  return cause == null || (cause instanceof GraphQLError && isOfGraphQL(cause.originalError));
}

function at(original: GraphQLError | null, message: string, extensions: GraphQLErrorExtensions) {
  const error = withoutStack(
    () => new GraphQLError(withoutMiddle(message), { path: original?.path ?? null, extensions }),
  );
  return Object.assign(error, { locations: original ? locationsOf(original) : undefined });
}

/** A failure in an operation, for logs. */
export interface FailedPath {
  /** `GET {owner}/{project}/experiments/{id}/`: the template of the upstream path. For a bug of the gateway, the path of the field. */
  readonly at: string;
  /** HTTP status of the upstream response, or the error code if that status is not a failure. */
  readonly outcome: string;
  count: number;
}

const MAX_FAILED_PATHS = 5;
const MAX_RESPONSE_KEY_LENGTH = 200;

/** Counts the upstream requests and the bugs of the gateway that caused errors. */
export function addPaths(paths: FailedPath[], errors: readonly GraphQLError[]): void {
  for (const { extensions, path } of errors) {
    // Safe: `publicError` adds a code to each of its errors, and copies the details of a failure.
    const { code, upstream } = extensions as { readonly code?: ErrorCode } & ErrorDetails;
    if (!upstream && code !== "INTERNAL_SERVER_ERROR") continue;
    const where = upstream
      ? `${upstream.method} ${upstream.route}`
      : (path ?? []).join(".").slice(0, MAX_RESPONSE_KEY_LENGTH);
    const { status = 0 } = upstream ?? {};
    const outcome = status >= 300 ? `${status}` : `${code}`;
    const known = paths.find((each) => each.at === where && each.outcome === outcome);
    if (known) known.count++;
    else if (paths.length < MAX_FAILED_PATHS) paths.push({ at: where, outcome, count: 1 });
  }
}

/** Records the codes and the causes of errors for the log line of the operation. */
export function recordErrors(
  details: { codes: readonly string[]; readonly failed: FailedPath[] },
  errors: readonly GraphQLError[],
): void {
  const codes = errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN"));
  details.codes = [...new Set([...details.codes, ...codes])];
  addPaths(details.failed, errors);
}

/**
 * The errors of a mutation that HALT has ended, as callers see them. `first` is the first error before its conversion. If that error is
 * below a root field, the field's command was executed although the result does not show it, so the outcome is unknown.
 */
export const withOutcome = (errors: readonly GraphQLError[], first: GraphQLError): GraphQLError[] =>
  errors.map((error) =>
    (first.path?.length ?? 0) < 2 ? error : withExtensions(error, { outcome: "unknown" }),
  );

/** Creates the error of a request that is not executed. The HTTP status follows from the code, unless `http` has another status. */
export const rejection = (message: string, code: ErrorCode, http: object = {}): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { status: statusOf(code), ...http } } });

/** Creates the error of an operation that exceeds a limit. The HTTP status is 200 with `application/json`. */
export const tooLarge = (
  message: string,
  code: "OPERATION_TOO_LARGE" | "OPERATION_TOO_DEEP" = "OPERATION_TOO_LARGE",
): GraphQLError => rejection(message, code, { spec: true });

export const stopError = (reason: unknown, extensions: GraphQLErrorExtensions = {}): GraphQLError =>
  reason instanceof GraphQLError
    ? withExtensions(reason, extensions)
    : new GraphQLError("", { originalError: reason as Error, extensions });

export const overloaded = (): GraphQLError => rejection(OVERLOADED, "SERVICE_OVERLOADED");

/** The error of a request whose scope has ended before its work could begin. */
export const endOfScopeError = (ended: EndReason): Error =>
  ended === "disconnected" ? new CancelledError("The caller left.") : overloaded();

export const withExtensions = (error: GraphQLError, extensions: GraphQLErrorExtensions): GraphQLError =>
  at(error, error.message, { ...error.extensions, ...extensions });

/** Codes of errors that do not depend on the records that an operation reads. */
const DRY_RUN_CODES: ReadonlySet<unknown> = new Set<ErrorCode>([
  "UNAUTHENTICATED",
  "CAPABILITY_UNAVAILABLE",
  "REQUEST_LIMIT_EXCEEDED",
]);

/**
 * Removes the data from the result of a dry run, and the errors that made-up records may have caused. If the operation sent no requests,
 * it read no such records, and all errors remain.
 */
export function withoutData({ errors = [], ...result }: ExecutionResult, hasRequests: boolean) {
  if (!("data" in result)) return { errors };
  const kept = errors.filter(({ extensions }) => !hasRequests || DRY_RUN_CODES.has(extensions["code"]));
  return { data: null, ...(kept.length > 0 && { errors: kept }) };
}
