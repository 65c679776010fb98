import type { Session } from "../../rest/session/session.ts";
import type { TypeNames } from "./type-names.ts";

type Capability = "LISTS" | "EXPERIMENT_JOB_LOGS";

/** The gateway's version, capabilities and limits, which the field `gateway` exposes. */
export interface GatewayFacts {
  readonly version: string;
  readonly upstreamApiVersion: string;
  readonly capabilities: readonly Capability[];
  readonly maxDepth: number;
  readonly maxUpstreamRequests: number;
  readonly maxPageSize: number;
  readonly maxLogBytes: number;
}

/** The context of resolvers, one per GraphQL request. */
export interface Context {
  readonly session: Session;
  readonly gateway: GatewayFacts;
  /** The served names of types. */
  readonly names: TypeNames;
  /** Root of the download URLs, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether selections are prefetched. Tests switch it off to compare. */
  readonly lookAhead: boolean;
}
