import type { Attributes } from "@opentelemetry/api";

/** OpenTelemetry where its API is installed, and nothing where it is not: whoever wants spans brings an SDK. */
const otel = await import("@opentelemetry/api").catch(() => null);

/** Runs something as a span. Attributes hold only what a log line may hold. */
export function inSpan<Answer>(
  name: string,
  attributes: Attributes,
  run: () => Promise<Answer>,
): Promise<Answer> {
  if (!otel) return run();
  return otel.trace.getTracer("rungraph").startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await run();
    } catch (fault) {
      span.setStatus({ code: otel.SpanStatusCode.ERROR });
      throw fault;
    } finally {
      span.end();
    }
  });
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The trace that an exchange belongs to: the active span's, or else the caller's own header when it is valid. */
export function traceparentFor(given: unknown): string | null {
  const carrier: { traceparent?: string } = {};
  otel?.propagation.inject(otel.context.active(), carrier);
  if (carrier.traceparent) return carrier.traceparent;
  return typeof given === "string" && TRACEPARENT.test(given) ? given : null;
}
