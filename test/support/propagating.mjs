// An OpenTelemetry SDK that exports no spans, with the propagators that PROPAGATOR names.
import { isSpanContextValid, trace, TraceFlags } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

/** B3 in several headers, as `@opentelemetry/propagator-b3` writes it, including capitals. */
const B3 = {
  fields: () => ["X-B3-TraceId", "X-B3-SpanId", "X-B3-Sampled"],
  inject: (context, carrier, setter) => {
    const spanContext = trace.getSpanContext(context);
    if (!spanContext || !isSpanContextValid(spanContext)) return;
    setter.set(carrier, "X-B3-TraceId", spanContext.traceId);
    setter.set(carrier, "X-B3-SpanId", spanContext.spanId);
    setter.set(carrier, "X-B3-Sampled", `${spanContext.traceFlags & TraceFlags.SAMPLED}`);
  },
  extract: (context, carrier, getter) => {
    const [traceId, spanId] = ["x-b3-traceid", "x-b3-spanid"].map((name) => `${getter.get(carrier, name)}`);
    const spanContext = { traceId, spanId, isRemote: true, traceFlags: TraceFlags.SAMPLED };
    return isSpanContextValid(spanContext) ? trace.setSpanContext(context, spanContext) : context;
  },
};

/** A propagator that sets headers which the gateway sets itself, or which belong to one connection. */
const GREEDY = {
  fields: () => [],
  inject: (_context, carrier, setter) => {
    for (const name of ["Authorization", "Host", "X-Request-Id", "Content-Length", "Connection", "Accept"])
      setter.set(carrier, name, "canary");
    setter.set(carrier, "X-Api-Key", "canary");
    setter.set(carrier, "X-Trace", "kept");
  },
  extract: (context) => context,
};

// By default, the SDK has its own propagators: W3C trace context and baggage.
const propagator = { b3: B3, greedy: GREEDY }[process.env["PROPAGATOR"]];
new NodeTracerProvider().register(propagator && { propagator });
