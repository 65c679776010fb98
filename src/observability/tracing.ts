import type { IncomingHttpHeaders } from "node:http";
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapSetter,
  trace,
} from "@opentelemetry/api";
import type { Identity, RequestScope } from "../callers/request-scope.ts";
import type { UpstreamSpan } from "../rest/client/attempt.ts";
import type { OperationDetails } from "../engine/engine.ts";

/** Creates spans with the SDK that the process has registered or registers later. Without an SDK, spans have no ids. */
const tracer = trace.getTracer("rungraph");

/** The outcome at the end of a span. Attributes contain only values that are safe to log. */
interface Ending {
  /** A more specific name of the span, if its final name was unknown at the start. */
  readonly name?: string;
  readonly attributes?: Attributes;
  /** The code or status of the failure; null on success. */
  readonly error: string | null;
}

export interface RequestSpan {
  /** The id of the trace; null unless the gateway traces the request. */
  readonly traceId: string | null;
  readonly run: <Answer>(act: () => Answer) => Answer;
  readonly end: (ending: Ending) => void;
}

const NO_SPAN = { traceId: null, headers: null, run: <Answer>(act: () => Answer) => act(), end: () => {} };

/**
 * Opens the span of a caller's request. If `node:http` is instrumented, the span is an INTERNAL child of the instrumentation's span.
 * Otherwise it is the SERVER span, and the caller's trace headers name its parent. Upstream spans of the scope are its children.
 */
export function openRequestSpan(
  name: string,
  headers: IncomingHttpHeaders,
  scope: RequestScope,
): RequestSpan {
  const active = context.active();
  const isInstrumented = trace.getSpan(active) !== undefined;
  const parent = isInstrumented ? active : propagation.extract(active, headers);
  const kind = isInstrumented ? SpanKind.INTERNAL : SpanKind.SERVER;
  const span = tracer.startSpan(name, { kind }, parent);
  if (!isTraced(span)) return NO_SPAN;
  scope.telemetryContext = trace.setSpan(parent, span);
  return opened(span, scope.telemetryContext);
}

/**
 * Ends the span of a GraphQL request. The span is named by the operation type. The operation name is only an attribute, because callers
 * choose it, and span names should have low cardinality.
 */
export function endOperationSpan(
  span: RequestSpan,
  { type, name, codes }: OperationDetails,
  status: number | null,
): void {
  if (span === NO_SPAN) return;
  const isRead = type !== "invalid";
  span.end({
    ...(isRead && { name: type }),
    attributes: {
      ...(isRead && { "graphql.operation.type": type }),
      ...(name !== null && { "graphql.operation.name": name }),
    },
    error: codes[0] ?? (status === null || status < 400 ? null : `${status}`),
  });
}

/**
 * Opens the CLIENT span of one upstream request. Tracing is suppressed within the span, because spans of instrumentations of `node:http` and
 * undici would contain the filled path, and undici's instrumentation would append a second `traceparent` to the header.
 */
export function openUpstreamSpan(
  method: string,
  route: string,
  { telemetryContext }: Pick<RequestScope, "telemetryContext">,
): UpstreamSpan {
  const parent = telemetryContext ?? ROOT_CONTEXT;
  const attributes = { "http.request.method": method, "url.template": route };
  const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.CLIENT, attributes }, parent);
  if (!isTraced(span)) return NO_SPAN;
  const own = trace.setSpan(parent, span);
  const headers: Record<string, string> = {};
  propagation.inject(own, headers, SETTER);
  const { run, end } = opened(span, own.setValue(createContextKey(SUPPRESS_TRACING), true));
  return {
    headers,
    run,
    end: (status, error) =>
      end({
        attributes: status === null ? {} : { "http.response.status_code": status },
        error: status !== null && status >= 400 ? `${status}` : error,
      }),
  };
}

const SETTER: TextMapSetter<Record<string, string>> = {
  set: (headers, name, value) => {
    headers[name.toLowerCase()] = value;
  },
};

/** The context key with which `@opentelemetry/core` suppresses tracing. Keys with the same name are equal. */
const SUPPRESS_TRACING = "OpenTelemetry SDK Context Key SUPPRESS_TRACING";

/** Whether an SDK created the span, recorded or not. Without an SDK a span has no ids. */
const isTraced = (span: Span): boolean => isSpanContextValid(span.spanContext());

function opened(span: Span, own: Context): RequestSpan {
  return {
    traceId: span.spanContext().traceId,
    run: (act) => context.with(own, act),
    end: ({ name, attributes = {}, error }) => {
      if (name) span.updateName(name);
      span.setAttributes(attributes);
      if (error !== null) {
        span.setAttribute("error.type", error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Matches a `tracestate` that is passed on. The specification allows longer values to be dropped. */
const TRACESTATE = /^[\t -~]{1,512}$/;

/** The headers that pass the caller's trace context on unchanged; null without a valid `traceparent`. */
export function traceContextIn({ traceparent, tracestate }: IncomingHttpHeaders): Identity["trace"] {
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return null;
  return typeof tracestate === "string" && TRACESTATE.test(tracestate)
    ? { traceparent, tracestate }
    : { traceparent };
}

/** The id of a caller's trace; null without one. */
export const traceIdOf = (headers: Identity["trace"]): string | null =>
  headers?.["traceparent"]?.slice(3, 35) ?? null;
