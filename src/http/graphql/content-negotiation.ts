/** The media type of results whose HTTP status shows request errors. */
export const GRAPHQL_RESPONSE_JSON = "application/graphql-response+json";

export type ResultType = "application/json" | typeof GRAPHQL_RESPONSE_JSON;

/** The format of an incremental result or of events. */
export interface StreamForm {
  readonly type: "multipart/mixed" | "text/event-stream";
  /** Whether incremental results have the format of August 2022. */
  readonly isOlder: boolean;
}

/** The weight of a media range such as `application/json;q=0.5`; 1 by default. */
const weightOf = (range: string): number => Number(/;q=([\d.]+)/.exec(range)?.[1] ?? 1);

/** Maximum media ranges that are read. Browsers send seven. */
const MAX_RANGES = 100;

/** The media ranges of an `accept` header by weight, then by order. */
function rangesOf(accept: string): string[] {
  const ranges = accept.replaceAll(/\s/g, "").toLowerCase().split(",", MAX_RANGES);
  return ranges
    .map((range) => ({ range, weight: weightOf(range) }))
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ range }) => range);
}

const RESULT_RANGE = /^(?:\*|application)\/(\*|json|graphql-response\+json)(?:;|$)/;
const OTHER_CHARSET = /charset=(?!("?)utf-8\1(?:;|$))/;

/** The media type of a single result: `application/json` if a wildcard accepts both types; null when the caller accepts neither. */
export function resultTypeFor(accept: string | undefined): ResultType | null {
  if (!accept || accept === "*/*" || accept === "application/json") return "application/json";
  for (const range of rangesOf(accept)) {
    const type = OTHER_CHARSET.test(range) ? null : RESULT_RANGE.exec(range)?.[1];
    if (type) return type.startsWith("graphql") ? GRAPHQL_RESPONSE_JSON : "application/json";
  }
  return null;
}

/** Matches the versions of incremental delivery as Apollo Client's `Defer20220824Handler` and `GraphQL17Alpha9Handler` name them. */
const KNOWN_SPEC = /;(?:deferspec="?20220824|incrementalspec="?v0\.2)"?(?:;|$)/;

const isMultipart = (range: string): boolean =>
  range.startsWith("multipart/mixed") && (KNOWN_SPEC.test(range) || !/;\w+spec=/.test(range));

/** The format in which a caller accepts incremental results; null when the caller accepts none. */
export function streamFormFor(accept: string | undefined): StreamForm | null {
  if (!accept || !/multipart\/mixed|text\/event-stream/i.test(accept)) return null;
  const multipart = rangesOf(accept).find(isMultipart);
  if (multipart) return { type: "multipart/mixed", isOlder: multipart.includes(";deferspec=") };
  return acceptsEvents(accept) ? { type: "text/event-stream", isOlder: false } : null;
}

/** Matches version 1.0 of Apollo's protocol of subscriptions over HTTP: events as parts of a multipart response. */
const SUBSCRIPTION_SPEC = /;subscriptionspec="?1\.0"?(?:;|$)/;

const isOfEvents = (range: string) => range.startsWith("multipart/mixed") && SUBSCRIPTION_SPEC.test(range);

/** The format in which a caller accepts the events of subscriptions; null if the caller accepts none. */
export function eventFormFor(accept: string | undefined): StreamForm["type"] | null {
  if (accept === undefined) return null;
  if (/subscriptionspec/i.test(accept) && rangesOf(accept).some(isOfEvents)) return "multipart/mixed";
  return acceptsEvents(accept) ? "text/event-stream" : null;
}

const acceptsEvents = (accept: string): boolean =>
  rangesOf(accept).some((range) => /^text\/event-stream(?:;|$)/.test(range));
