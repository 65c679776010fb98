import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { UpstreamSpan } from "../rest/client/client.ts";

/** OpenTelemetry where its API is installed, and nothing where it is not: an operator who wants spans loads an SDK. */
const otel = await import("@opentelemetry/api").catch(() => null);

type OpenTelemetry = NonNullable<typeof otel>;

/** How a request ended, as its span tells it. Attributes hold only what a log line may hold. */
interface Outcome {
  /** A name that was not known at the start. */
  readonly name?: string;
  readonly attributes?: Attributes;
  /** The code or status of its failure; null when it succeeded. */
  readonly error: string | null;
}

interface RequestSpan {
  readonly run: <Answer>(act: () => Answer) => Answer;
  readonly end: (outcome: Outcome) => void;
}

const NO_SPAN = { traceparent: null, run: <Answer>(act: () => Answer) => act(), end: () => {} };

/**
 * Opens the span of a caller's request. Below the span of an instrumentation of `node:http` it is INTERNAL. Without
 * one it is the SERVER span, and the caller's trace headers name its parent.
 */
export function openRequestSpan(name: string, headers: IncomingHttpHeaders): RequestSpan {
  if (!otel) return NO_SPAN;
  const active = otel.context.active();
  const isInstrumented = otel.trace.getSpan(active) !== undefined;
  const parent = isInstrumented ? active : otel.propagation.extract(active, headers);
  const kind = isInstrumented ? otel.SpanKind.INTERNAL : otel.SpanKind.SERVER;
  const span = otel.trace.getTracer("rungraph").startSpan(name, { kind }, parent);
  return opened(otel, span, otel.trace.setSpan(parent, span));
}

/** What a span tells of an operation, known when its result is there. */
interface Operation {
  readonly type: string;
  readonly name: string | null;
  /** Codes of the errors in its result. */
  readonly codes: readonly string[];
}

/**
 * Opens the span of a GraphQL request. It ends when its result is made, named by the type of the operation. The name of
 * the operation is an attribute only: callers choose it, and names of spans should be few.
 */
export function openOperationSpan({ headers }: IncomingMessage, operation: Operation) {
  const span = openRequestSpan("GraphQL Operation", headers);
  return {
    run: span.run,
    /** `status` is that of the response. */
    end: (status: number): void => {
      const { type, name, codes } = operation;
      const isRead = type !== "invalid";
      span.end({
        ...(isRead && { name: type }),
        attributes: {
          ...(isRead && { "graphql.operation.type": type }),
          ...(name !== null && { "graphql.operation.name": name }),
        },
        error: codes[0] ?? (status < 400 ? null : `${status}`),
      });
    },
  };
}

/**
 * Opens the CLIENT span of one upstream request. Instrumentations of `node:http` and undici make no span within it:
 * theirs would hold the filled path, and undici's would append a second `traceparent` to the header.
 */
export function openUpstreamSpan(method: string, route: string): UpstreamSpan {
  if (!otel) return NO_SPAN;
  const parent = otel.context.active();
  const attributes = { "http.request.method": method, "url.template": route };
  const span = otel.trace
    .getTracer("rungraph")
    .startSpan(`${method} ${route}`, { kind: otel.SpanKind.CLIENT, attributes }, parent);
  const own = otel.trace.setSpan(parent, span);
  const carrier: { traceparent?: string } = {};
  otel.propagation.inject(own, carrier);
  const { run, end } = opened(otel, span, own.setValue(otel.createContextKey(SUPPRESS_TRACING), true));
  return {
    traceparent: carrier.traceparent ?? null,
    run,
    end: (status, error) =>
      end({
        attributes: status === null ? {} : { "http.response.status_code": status },
        error: status !== null && status >= 400 ? `${status}` : error,
      }),
  };
}

/** By a key of this name `@opentelemetry/core` knows that nothing is traced. Keys of one name are the same key. */
const SUPPRESS_TRACING = "OpenTelemetry SDK Context Key SUPPRESS_TRACING";

function opened(api: OpenTelemetry, span: Span, context: Context): RequestSpan {
  return {
    run: (act) => api.context.with(context, act),
    end: ({ name, attributes = {}, error }) => {
      if (name) span.updateName(name);
      span.setAttributes(attributes);
      if (error !== null) {
        span.setAttribute("error.type", error);
        span.setStatus({ code: api.SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The caller's trace context when its header is valid, else null. */
export const validTraceparent = (header: unknown): string | null =>
  typeof header === "string" && TRACEPARENT.test(header) ? header : null;
