// Sends spans by OTLP over HTTP. Load it before the gateway:
//
//   npm install @opentelemetry/api@1 @opentelemetry/sdk-trace-node@2 @opentelemetry/resources@2 \
//     @opentelemetry/exporter-trace-otlp-http@0.223 @opentelemetry/instrumentation@0.223 \
//     @opentelemetry/instrumentation-http@0.223 @opentelemetry/instrumentation-undici@0.33
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 node --import ./docs/tracing.mjs dist/src/main.js
//
// The variables of OpenTelemetry work: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER,
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_BSP_SCHEDULE_DELAY and so on.
import { register } from "node:module";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

// The gateway consists of ES modules; this lets instrumentations see what they import.
register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);

const provider = new NodeTracerProvider({
  resource: defaultResource()
    .merge(resourceFromAttributes({ "service.name": "rungraph" }))
    .merge(detectResources({ detectors: [envDetector] })),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();

registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation({
      ignoreIncomingRequestHook: ({ url = "" }) => /^\/(?:healthz|readyz|metrics)\b/.test(url),
      // Ids, documents and variables are the caller's.
      startIncomingSpanHook: ({ url = "" }) => ({
        "url.path": url.replace(/\?.*/s, "").replace(/^\/(downloads|export)\/[^/]+/, "/$1/{id}"),
        "url.query": undefined,
      }),
    }),
    // For other code in the process. The gateway makes the spans of its own upstream requests.
    new UndiciInstrumentation(),
  ],
});

// The gateway drains on these signals and then exits; spans that wait are sent meanwhile.
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void provider.forceFlush());
