import { isObject } from "./record.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import { cluster } from "./kinds.ts";

const SELDOM_CHANGING: ReadonlySet<AnyEndpoint> = new Set<AnyEndpoint>([cluster.read, cluster.node]);

/** How many times longer a response is kept: the cluster, its machines and the record of a run that has ended seldom change. */
export const freshnessOf = (endpoint: AnyEndpoint, answer: unknown): number =>
  SELDOM_CHANGING.has(endpoint) || (isObject(answer) && typeof answer["finished_at"] === "string") ? 5 : 1;
