// Sends spans by OTLP over HTTP. Copy this file, install what it imports, and load it before the gateway:
//
//   npm install @opentelemetry/exporter-trace-otlp-http@0.223 @opentelemetry/resources@2 @opentelemetry/sdk-trace-node@2
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 node --import ./tracing.mjs node_modules/rungraph/dist/src/main.js
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const provider = new NodeTracerProvider({
  resource: defaultResource()
    .merge(resourceFromAttributes({ "service.name": "rungraph" }))
    .merge(detectResources({ detectors: [envDetector] })),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();

// The gateway drains on these signals and then exits; spans that wait are sent meanwhile.
// A signal that comes before the gateway listens for it ends the process.
for (const signal of ["SIGTERM", "SIGINT"])
  process.once(signal, () => {
    void provider.forceFlush();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  });
