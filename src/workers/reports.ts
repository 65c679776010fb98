import type { Worker } from "node:cluster";
import { AggregatorRegistry, Gauge } from "prom-client";
import type { Metrics, ToPrimary, ToWorker } from "./messages.ts";

/** Maximum time that a worker takes to report its metrics, in milliseconds. */
const REPORT_MS = 2_000;

let lastId = 0;

/**
 * Collects the metrics of workers as text, as if they were one process, and counts those that do not answer. Own code
 * instead of `AggregatorRegistry.clusterMetrics`, which waits in vain for workers that are starting or have died.
 */
export async function collectMetrics(workers: Iterable<Worker>): Promise<string> {
  const reports = await Promise.all(Array.from(workers, reportOf));
  const metrics = reports.filter((report) => report !== null);
  const all = AggregatorRegistry.aggregate(metrics);
  new Gauge({
    name: "rungraph_silent_workers",
    help: "Workers that did not report their metrics in time: those of the others are here.",
    registers: [all],
  }).set(reports.length - metrics.length);
  return all.metrics();
}

/** The metrics of a worker: none when it dies, null when it does not answer. */
function reportOf(worker: Worker): Promise<Metrics | null> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const settle = (metrics: Metrics | null) => {
      clearTimeout(timer);
      worker.off("message", onMessage);
      worker.off("exit", onExit);
      resolve(metrics);
    };
    const onMessage = (message: ToPrimary) => {
      if (message.type === "report" && message.id === id) settle(message.metrics);
    };
    const onExit = () => settle([]);
    const timer = setTimeout(() => settle(null), REPORT_MS);
    worker.on("message", onMessage);
    worker.once("exit", onExit);
    send(worker, { type: "report", id });
  });
}

/** Sends a message unless the worker is about to exit. */
export function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
