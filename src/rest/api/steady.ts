import { isObject } from "./record.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import { cluster } from "./kinds.ts";

const STEADY_ENDPOINTS: ReadonlySet<AnyEndpoint> = new Set<AnyEndpoint>([cluster.read, cluster.node]);

/** Whether a response seldom changes: the cluster, its machines, and the record of a run that has ended. */
export const isSteady = (endpoint: AnyEndpoint, answer: unknown): boolean =>
  STEADY_ENDPOINTS.has(endpoint) || (isObject(answer) && typeof answer["finished_at"] === "string");
