import { isObject } from "./values.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import { cluster } from "./endpoints.ts";

const SELDOM_CHANGING: ReadonlySet<AnyEndpoint> = new Set<AnyEndpoint>([cluster.read, cluster.node]);

/** Whether a response seldom changes: the cluster, its machines, and the record of a run that has ended. */
export const seldomChanges = (endpoint: AnyEndpoint, answer: unknown): boolean =>
  SELDOM_CHANGING.has(endpoint) || (isObject(answer) && typeof answer["finished_at"] === "string");
