import * as api from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace-node";
import { readVersion } from "../installation.ts";
import { traceBy } from "./tracing.ts";

/** Sends the spans that wait. Rejects, or takes long, when the collector is away. */
type Flush = () => Promise<void>;

/**
 * Sends the gateway's spans to a collector by OTLP over HTTP, as the variables of OpenTelemetry say. `onFailure` gets the
 * cause of each batch that is lost. Null if the process has an SDK already.
 */
export function openOtlp(onFailure: (cause: string) => void): Flush | null {
  const exporter = reporting(new OTLPTraceExporter(), onFailure);
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "rungraph", "service.version": readVersion() }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  if (!api.trace.setGlobalTracerProvider(provider)) {
    void provider.shutdown();
    return null;
  }
  provider.register();
  traceBy(api);
  return async () => {
    await provider.forceFlush();
    // What was on its way before.
    await exporter.forceFlush();
  };
}

/** An exporter that reports why it could not send. */
function reporting(exporter: OTLPTraceExporter, onFailure: (cause: string) => void) {
  return {
    export: (...[spans, done]: Parameters<SpanExporter["export"]>) =>
      exporter.export(spans, (result) => {
        if (result.code !== SENT) onFailure(causeOf(result.error));
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  } satisfies SpanExporter;
}

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SENT = 0;

/** `ECONNREFUSED`, an HTTP status, or `TIMEOUT`. The message could name the host of the collector. */
function causeOf(error: Error | undefined): string {
  if (error && "code" in error && error.code !== undefined) return `${error.code}`;
  return error?.message === "Request timed out" ? "TIMEOUT" : "unknown";
}
