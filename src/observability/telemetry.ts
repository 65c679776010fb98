import type { Logger } from "pino";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Pressure, UpstreamReport } from "../rest/client/client.ts";

export interface OperationReport {
  readonly requestId: string;
  readonly type: "query" | "mutation" | "subscription" | "invalid";
  readonly name: string | null;
  /** The distinct codes of its errors. */
  readonly codes: readonly string[];
  readonly ms: number;
}

/** The outcome of a download. */
export interface DownloadReport {
  readonly requestId: string;
  readonly what: "logs" | "outputs";
  /** `OK`, or the code of its error, even of one after the response started. */
  readonly code: string;
  /** Bytes of the file that were sent to the caller. */
  readonly bytes: number;
  readonly ms: number;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The current load of the gateway. */
export interface Load extends Pressure {
  readonly operations: number;
  readonly downloads: number;
  /** Bytes of responses that wait for slow readers. */
  readonly waitingBytes: number;
}

/** Creates the metrics and request logs. Labels have few values: templates, statuses and codes, never a caller's names. */
export function createTelemetry(log: Logger, load: () => Load) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const operations = new Counter({
    name: "rungraph_operations_total",
    help: "GraphQL operations by type and code; an operation with several codes counts for each.",
    labelNames: ["type", "code"],
    registers,
  });
  const operationSeconds = new Histogram({
    name: "rungraph_operation_seconds",
    help: "Duration of GraphQL operations in seconds.",
    labelNames: ["type"],
    buckets: SECONDS,
    registers,
  });
  const downloads = new Counter({
    name: "rungraph_downloads_total",
    help: "Downloads by kind of file and code.",
    labelNames: ["what", "code"],
    registers,
  });
  const downloadBytes = new Counter({
    name: "rungraph_download_bytes_total",
    help: "Bytes of downloads sent to callers.",
    labelNames: ["what"],
    registers,
  });
  const upstreamRequests = new Counter({
    name: "rungraph_exchanges_total",
    help: "Upstream requests by route template and outcome (HTTP status, or code without one).",
    labelNames: ["method", "route", "outcome"],
    registers,
  });
  const upstreamSeconds = new Histogram({
    name: "rungraph_exchange_seconds",
    help: "Duration of upstream requests in seconds.",
    labelNames: ["method", "route"],
    buckets: SECONDS,
    registers,
  });
  gauge("rungraph_circuit_open", "1 while the circuit breaker sends no requests to the service.", () =>
    load().circuit === "open" ? 1 : 0,
  );
  gauge("rungraph_exchanges_running", "Upstream requests in progress.", () => load().running);
  gauge("rungraph_exchanges_waiting", "Upstream requests in the queue.", () => load().waiting);
  gauge(
    "rungraph_exchanges_shed",
    "Operations rejected since the start because the upstream queue was full.",
    () => load().shed,
  );

  gauge("rungraph_operations_running", "GraphQL requests in progress.", () => load().operations);
  gauge("rungraph_downloads_running", "Downloads in progress.", () => load().downloads);
  gauge(
    "rungraph_waiting_bytes",
    "Bytes of responses that wait for slow readers.",
    () => load().waitingBytes,
  );

  function gauge(name: string, help: string, read: () => number): void {
    // The registry keeps the gauge and collects it on each scrape.
    void new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }

  return {
    upstreamRequest: ({ requestId, method, route, outcome, ms }: UpstreamReport): void => {
      upstreamRequests.inc({ method, route, outcome });
      upstreamSeconds.observe({ method, route }, ms / 1000);
      log.debug({ requestId, method, route, outcome, ms: Math.round(ms) }, "exchange");
    },
    operation: ({ requestId, type, name, codes, ms }: OperationReport): void => {
      for (const code of codes.length > 0 ? codes : ["OK"]) operations.inc({ type, code });
      operationSeconds.observe({ type }, ms / 1000);
      log.info({ requestId, type, name, codes, ms: Math.round(ms) }, "operation");
    },
    download: ({ requestId, what, code, bytes, ms }: DownloadReport): void => {
      downloads.inc({ what, code });
      downloadBytes.inc({ what }, bytes);
      log.info({ requestId, what, code, bytes, ms: Math.round(ms) }, "download");
    },
    /** Counts a request that was rejected before its document was read. */
    rejected: (code: string): void => operations.inc({ type: "unread", code }),
    metrics: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

export type Telemetry = ReturnType<typeof createTelemetry>;
