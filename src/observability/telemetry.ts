import type { IncomingHttpHeaders } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { OperationDetails } from "../engine/engine.ts";
import { isErrorCode, statusOf } from "../errors.ts";
import { version } from "../package-info.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import type { Log } from "./log.ts";
import type { UpstreamReport } from "../rest/client/attempt.ts";
import type { UpstreamStats } from "../rest/client/client.ts";
import type { CoordinatesOf } from "../engine/coordinates.ts";
import { createFieldCounts } from "./field-counts.ts";
import { clientOf, type ClientName, createOperationCounts } from "./operation-counts.ts";
import { endOperationSpan, type RequestSpan, traceIdOf } from "./tracing.ts";

interface Reported {
  readonly scope: RequestScope;
  readonly span: RequestSpan;
  /** The headers of the request, which may name its client. */
  readonly headers: IncomingHttpHeaders;
}

export interface DownloadDetails {
  readonly what: "logs" | "outputs" | "files" | "runs" | "metrics";
  /** `OK`, or the code of the error, even if the error occurred after the response started. */
  readonly code: string;
  /** Bytes of the file that were sent to the caller. */
  readonly bytes: number;
  readonly failed: readonly object[];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600, 1800];

/** The buckets of a histogram of durations. The last bound is the deadline. */
const bucketsUpTo = (deadlineMs: number): number[] => {
  const deadline = deadlineMs / 1000;
  return [...SECONDS.filter((seconds) => seconds < deadline), deadline];
};

const REQUESTS = [0, 1, 2, 3, 5, 10, 20, 50, 100, 200];

type Load = UpstreamStats &
  Record<"operations" | "downloads" | "subscriptions" | "polls" | "waitingBytes", number>;

const LOADS: Readonly<Record<keyof Load, readonly [name: string, help: string]>> = {
  circuit: [
    "rungraph_circuit_open",
    "1 while the circuit breaker is open: at most one upstream request in 5 seconds is sent.",
  ],
  running: ["rungraph_upstream_requests_running", "Upstream requests in flight."],
  waiting: ["rungraph_upstream_requests_waiting", "Waiting upstream requests, by the reason for waiting."],
  concurrencyLimit: [
    "rungraph_upstream_concurrency_limit",
    "Maximum upstream requests in flight, which adapts to the latency of the service.",
  ],
  shed: [
    "rungraph_upstream_requests_shed_total",
    "Operations rejected because too many upstream requests waited.",
  ],
  retries: [
    "rungraph_upstream_retries_total",
    "Retries of failed upstream requests, without those that the service throttled.",
  ],
  operations: ["rungraph_operations_running", "GraphQL operations in execution."],
  downloads: ["rungraph_downloads_running", "Downloads in flight."],
  subscriptions: ["rungraph_subscriptions_running", "Open subscriptions."],
  polls: ["rungraph_polls_running", "Polls for subscriptions: distinct runs, lists, logs and metrics."],
  waitingBytes: [
    "rungraph_waiting_bytes",
    "Bytes of responses that wait for their readers, and of incomplete request bodies.",
  ],
};

/** The metrics of the process. All gateways of the process share them, because their collectors cannot be stopped. */
let ofProcess: Registry | null = null;

function processMetrics(): Registry {
  if (ofProcess) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  return ofProcess;
}

interface Settings {
  readonly log: Log;
  readonly load: () => Load;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
  /** Maximum durations of operations and of upstream requests, in milliseconds. */
  readonly deadlines: { readonly operation: number; readonly upstream: number };
  /** Returns the fields of an operation that are counted by client; null if no fields are counted. */
  readonly coordinatesOf: CoordinatesOf | null;
}

/**
 * Creates the metrics and request logs. Labels have few different values: path templates, statuses, codes, and a bounded number of names of
 * clients and operations.
 */
export function createTelemetry({ log, load, now, deadlines, coordinatesOf }: Settings) {
  const registers = [new Registry()];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets: number[],
  ) => new Histogram({ name, help, labelNames, buckets, registers });

  new Gauge({
    name: "rungraph_build_info",
    help: "1, with the version of the gateway.",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  const operations = counter(
    "rungraph_operations_total",
    "GraphQL operations, each by its most severe code.",
    ["type", "code"],
  );
  // The series that alerts use start with 0, because `increase` in PromQL misses the first increment of a series that starts with 1.
  for (const type of ["query", "mutation", "subscription", "invalid", "unread"])
    for (const code of ["INTERNAL_SERVER_ERROR", "SERVICE_OVERLOADED"]) operations.inc({ type, code }, 0);
  const operationSeconds = histogram(
    "rungraph_operation_seconds",
    "Duration of GraphQL operations.",
    ["type"],
    bucketsUpTo(deadlines.operation),
  );
  const operationRequests = histogram(
    "rungraph_operation_upstream_requests",
    "Upstream requests of a query or mutation, retries included.",
    [],
    REQUESTS,
  );
  const countByNames = createOperationCounts(registers, now);
  const countFields = coordinatesOf && createFieldCounts(coordinatesOf, registers);
  const downloads = counter("rungraph_downloads_total", "Downloads.", ["what", "code"]);
  const downloadBytes = counter("rungraph_download_bytes_total", "Bytes of downloads that were passed on.", [
    "what",
  ]);
  const upstreamRequests = counter("rungraph_upstream_requests_total", "Upstream requests.", [
    "method",
    "route",
    "outcome",
  ]);
  const upstreamSeconds = histogram(
    "rungraph_upstream_request_seconds",
    "Duration of upstream requests.",
    ["method", "route"],
    bucketsUpTo(deadlines.upstream),
  );
  const sharedReads = counter(
    "rungraph_shared_reads_total",
    "Reads that needed no upstream request of their own.",
    ["from"],
  );
  for (const [key, [name, help]] of Object.entries(LOADS)) {
    const collect = function (this: Pick<Counter, "reset" | "inc">): void {
      // Safe: `LOADS` has the keys of `Load`.
      const value = load()[key as keyof Load];
      this.reset();
      if (typeof value !== "object")
        return this.inc(typeof value === "number" ? value : Number(value === "open"));
      for (const [reason, count] of Object.entries(value)) this.inc({ reason }, count);
    };
    // The registry keeps the metric and collects it on each scrape.
    void new (name.endsWith("_total") ? Counter : Gauge)({
      name,
      help,
      registers,
      collect,
      labelNames: key === "waiting" ? ["reason"] : [],
    });
  }

  const registry = Registry.merge([processMetrics(), ...registers]);
  return {
    upstreamRequest: ({ requestId, method, route, outcome, ms }: UpstreamReport): void => {
      upstreamRequests.inc({ method, route, outcome });
      upstreamSeconds.observe({ method, route }, ms / 1000);
      log.debug({ requestId, method, route, outcome, ms: Math.round(ms) }, "upstream request");
    },
    sharedRead: (from: "in flight" | "kept" | "stale"): void => sharedReads.inc({ from }),
    /** Reports an operation and the HTTP status of its result. The status is null for an operation over a WebSocket. */
    operation: (request: Reported, details: OperationDetails, status: number | null): void => {
      const { began, upstreamRequests: sent, caller } = request.scope;
      const { type, name, hash, codes, failed } = details;
      const ms = performance.now() - began;
      const client = clientOf(request.headers);
      endOperationSpan(request.span, details, status);
      operations.inc({ type, code: mostSevereOf(codes) });
      operationSeconds.observe({ type }, ms / 1000);
      if (type === "query" || type === "mutation") operationRequests.observe(sent);
      const counted = countByNames(details, ms / 1000, client, caller.verification === "verified");
      if (details.selected) countFields?.(details.selected, counted);
      const what = { type, name, hash, status, codes, upstreamRequests: sent, ms: Math.round(ms) };
      log.info(lineOf(request, client, failed, what), "operation");
    },
    download: (request: Reported, { what, code, bytes, failed }: DownloadDetails): void => {
      const ms = performance.now() - request.scope.began;
      request.span.end({ error: code === "OK" || code === "REQUEST_CANCELLED" ? null : code });
      downloads.inc({ what, code });
      downloadBytes.inc({ what }, bytes);
      const about = { what, code, bytes, ms: Math.round(ms) };
      log.info(lineOf(request, clientOf(request.headers), failed, about), "download");
    },
    /** Logs the names of parameters that GraphQL over HTTP does not define. */
    unknownParameters: (requestId: string, names: readonly string[]): void => {
      const parameters = names.filter((name) => PLAIN_NAME.test(name)).slice(0, MAX_LOGGED_NAMES);
      log.debug({ requestId, parameters, count: names.length }, "unknown parameters were ignored");
    },
    /** Counts a request that was rejected before its document was read. */
    rejected: (code: string): void => operations.inc({ type: "unread", code }),
    registry,
  };
}

export type Telemetry = ReturnType<typeof createTelemetry>;

/** The first code whose status is 500 or above; if there is none, the first code. */
const mostSevereOf = (codes: readonly string[]): string =>
  codes.find((code) => isErrorCode(code) && statusOf(code) >= 500) ?? codes[0] ?? "OK";

/** Matches the names of unknown parameters that are logged. `MAX_LOGGED_NAMES`: maximum number of such names in a log line. */
const PLAIN_NAME = /^\w{1,30}$/;
const MAX_LOGGED_NAMES = 5;

/** Number of characters of a caller's key in logs, few enough that guessed tokens cannot be verified with them. */
const SHORT_KEY_LENGTH = 8;

/** Creates the fields of a log line: the caller, and the outcome. `Object.assign` is five times as fast here as two spreads. */
const lineOf = (
  { scope: { requestId, trace, token, caller }, span }: Reported,
  client: ClientName | null,
  failed: readonly object[],
  what: object,
): object =>
  Object.assign(
    {
      requestId,
      traceId: span.traceId ?? traceIdOf(trace),
      // Anonymous callers are not distinguished.
      caller: token === null ? "anonymous" : caller.key.slice(0, SHORT_KEY_LENGTH),
      client: client && client.client,
      clientVersion: client && client.version,
      failed: failed.length > 0 ? failed : undefined,
    },
    what,
  );
