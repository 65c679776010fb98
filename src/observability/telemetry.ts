import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Log } from "../log.ts";
import type { UpstreamReport } from "../rest/client/attempt.ts";
import type { Pressure } from "../rest/client/client.ts";

export interface OperationReport {
  readonly requestId: string;
  readonly type: "query" | "mutation" | "subscription" | "invalid";
  readonly name: string | null;
  /** The distinct codes of its errors. */
  readonly codes: readonly string[];
  readonly ms: number;
}

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
  readonly subscriptions: number;
  /** Number of things that are polled for subscriptions. */
  readonly polls: number;
  /** Bytes of responses that wait for slow readers. */
  readonly waitingBytes: number;
}

/** Creates the metrics and request logs. Labels have few values: templates, statuses and codes, never a caller's names. */
export function createTelemetry(log: Log, load: () => Load) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const operations = new Counter({
    name: "rungraph_operations_total",
    help: "GraphQL operations. An operation with several codes counts for each.",
    labelNames: ["type", "code"],
    registers,
  });
  const operationSeconds = new Histogram({
    name: "rungraph_operation_seconds",
    help: "Duration of GraphQL operations.",
    labelNames: ["type"],
    buckets: SECONDS,
    registers,
  });
  const downloads = new Counter({
    name: "rungraph_downloads_total",
    help: "Downloads.",
    labelNames: ["what", "code"],
    registers,
  });
  const downloadBytes = new Counter({
    name: "rungraph_download_bytes_total",
    help: "Bytes of downloads that were passed on.",
    labelNames: ["what"],
    registers,
  });
  const upstreamRequests = new Counter({
    name: "rungraph_exchanges_total",
    help: "Upstream requests.",
    labelNames: ["method", "route", "outcome"],
    registers,
  });
  const upstreamSeconds = new Histogram({
    name: "rungraph_exchange_seconds",
    help: "Duration of upstream requests.",
    labelNames: ["method", "route"],
    buckets: SECONDS,
    registers,
  });
  const sharedReads = new Counter({
    name: "rungraph_shared_reads_total",
    help: "Reads that needed no upstream request of their own.",
    labelNames: ["from"],
    registers,
  });
  gauge(
    "rungraph_circuit_open",
    "1 while the circuit breaker is open: no upstream requests are sent.",
    () => (load().circuit === "open" ? 1 : 0),
    "max",
  );
  gauge("rungraph_exchanges_running", "Upstream requests in flight.", () => load().running);
  gauge("rungraph_exchanges_waiting", "Upstream requests that wait for a connection.", () => load().waiting);
  gauge(
    "rungraph_exchanges_shed",
    "Upstream requests rejected since the start because too many waited.",
    () => load().shed,
  );

  gauge("rungraph_operations_running", "GraphQL operations in execution.", () => load().operations);
  gauge("rungraph_downloads_running", "Downloads in flight.", () => load().downloads);
  gauge("rungraph_subscriptions_running", "Open subscriptions.", () => load().subscriptions);
  gauge("rungraph_polls_running", "Things that are polled for subscriptions.", () => load().polls);
  gauge(
    "rungraph_waiting_bytes",
    "Bytes of responses that wait for their readers.",
    () => load().waitingBytes,
  );

  /** `aggregator` says what the value of several workers is. */
  function gauge(name: string, help: string, read: () => number, aggregator: Aggregator = "sum"): void {
    // The registry keeps the gauge and collects it on each scrape.
    void new Gauge({
      name,
      help,
      registers,
      aggregator,
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
    sharedRead: (from: "in flight" | "kept"): void => sharedReads.inc({ from }),
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
    registry,
    contentType: registry.contentType,
  };
}

export type Telemetry = ReturnType<typeof createTelemetry>;
