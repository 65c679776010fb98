import { GraphQLError, type GraphQLErrorExtensions } from "graphql";
import { Cancelled, type ErrorCode, InputError, isErrorCode, UpstreamError } from "../errors.ts";

/** Told of an error that nobody expected, and of the field that it cost. */
export type OnUnexpected = (thrown: unknown, path: GraphQLError["path"]) => void;

/**
 * The one place where an exception becomes what callers see. What is not known by name is masked, the same in every
 * NODE_ENV: message, stack and cause of an unknown error can name hosts and paths.
 */
export function publicError(thrown: unknown, onUnexpected: OnUnexpected): GraphQLError {
  const located = thrown instanceof GraphQLError ? thrown : null;
  const cause = located ? located.originalError : thrown;
  const told = (message: string, extensions: GraphQLErrorExtensions & { readonly code: ErrorCode }) =>
    at(located, message, extensions);

  if (cause instanceof UpstreamError) {
    const { paths } = located?.extensions ?? {};
    return told(cause.message, { code: cause.code, ...cause.facts, ...(paths ? { paths } : {}) });
  }
  if (cause instanceof InputError) return told(cause.message, { code: "BAD_USER_INPUT" });
  if (cause instanceof Cancelled) return told("The request was cancelled.", { code: "REQUEST_CANCELLED" });
  if (located && isOfGraphQL(cause)) {
    const { code: given, http, outcome } = located.extensions;
    const code = isErrorCode(given) ? given : "BAD_USER_INPUT";
    // A body that is no request at all is no GraphQL answer: Yoga would call it one, with status 200.
    const status = code === "BAD_REQUEST" && http ? { ...http, spec: false } : http;
    return told(withoutValues(located.message), {
      code,
      ...(outcome === "unknown" ? { outcome } : {}),
      ...(status ? { http: status } : {}),
    });
  }
  onUnexpected(cause, located?.path);
  return told("Something went wrong in the gateway.", { code: "INTERNAL_SERVER_ERROR" });
}

/**
 * GraphQL's own messages repeat what could not be used, a password among it. Kept are the place and what was expected,
 * and a number where a number was expected.
 */
const withoutValues = (message: string): string =>
  message
    // The last reason is GraphQL's; whatever looks like one before it is part of the value.
    .replace(/(got invalid value) (.*)(; [A-Z].*)$/s, (_, words: string, value: string, reason: string) => {
      const number = /^-?[\d.]+(?= at "|$)/.exec(value)?.[0];
      const place = / at "[\w.[\]]+"$/.exec(value)?.[0] ?? "";
      const kept = number && /^; (?:Int|Float) cannot/.test(reason) ? ` ${number}` : "";
      return `${words}${kept}${place}${reason}`;
    })
    .replace(/(String cannot represent a non string value): .*$/s, "$1")
    .replace(/((?:cannot represent|Expected|expected) [^:{["]*): *["{[].*$/s, "$1")
    .replace(/(Expected value of type "[^"]+"), found .*$/s, "$1")
    .replace(/(found|Unexpected) (String|BlockString|Int|Float) ".*$/s, "$1 $2");

/** An error of validation, which nobody masks, without the values that its message repeats; any other as it is. */
export const withoutLiterals = (error: GraphQLError): GraphQLError =>
  error.extensions["code"] === "GRAPHQL_VALIDATION_FAILED"
    ? at(error, withoutValues(error.message), error.extensions)
    : error;

/** The same error without the names that GraphQL suggests. */
export const withoutSuggestions = (error: GraphQLError): GraphQLError =>
  at(error, error.message.replaceAll(/\s*Did you mean .*?\?/g, ""), error.extensions);

/** Errors of the language itself: syntax, validation, coercion of variables and scalars. They quote only the request. */
function isOfGraphQL(cause: unknown): boolean {
  return cause == null || (cause instanceof GraphQLError && isOfGraphQL(cause.originalError));
}

const at = (place: GraphQLError | null, message: string, extensions: GraphQLErrorExtensions): GraphQLError =>
  new GraphQLError(message, {
    nodes: place?.nodes ?? null,
    source: place?.source ?? null,
    positions: place?.positions ?? null,
    path: place?.path ?? null,
    extensions,
  });

/** The same error with more told of it. */
export const withExtensions = (error: GraphQLError, extensions: GraphQLErrorExtensions): GraphQLError =>
  at(error, error.message, { ...error.extensions, ...extensions });
