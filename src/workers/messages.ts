import type { MetricObjectWithValues, MetricValue } from "prom-client";

/** Where the service is, and the token that GraphiQL starts with: null for a real server. */
export interface Upstream {
  readonly url: string;
  readonly exampleToken: string | null;
}

/** The metrics of one process. */
export type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** Messages of the primary process to a worker. */
export type ToWorker =
  | { readonly type: "start"; readonly upstream: Upstream }
  | { readonly type: "drain" }
  | { readonly type: "reload" }
  | { readonly type: "report"; readonly id: number }
  /** Expects `pong`. */
  | { readonly type: "ping" }
  /** The metrics of all workers as text. */
  | { readonly type: "metrics"; readonly id: number; readonly text: string };

/** Messages of a worker to the primary process. */
export type ToPrimary =
  /** The worker receives messages: those that are sent before are lost. */
  | { readonly type: "awake" }
  | { readonly type: "cannot listen"; readonly code: string }
  | { readonly type: "report"; readonly id: number; readonly metrics: Metrics }
  | { readonly type: "pong" }
  | { readonly type: "metrics wanted"; readonly id: number };
