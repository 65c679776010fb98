import type { Session } from "../../rest/session/session.ts";
import type { TypeNames } from "./type-names.ts";

type Capability = "LISTS" | "EXPERIMENT_JOB_LOGS";

/** What the gateway tells of itself, and holds requests to. */
export interface GatewayFacts {
  readonly version: string;
  readonly upstreamApiVersion: string;
  readonly capabilities: readonly Capability[];
  readonly maxDepth: number;
  readonly maxUpstreamRequests: number;
  readonly maxPageSize: number;
  readonly maxLogBytes: number;
}

/** What every resolver is given: one GraphQL request. */
export interface Context {
  readonly session: Session;
  readonly gateway: GatewayFacts;
  /** What types are called towards callers. */
  readonly names: TypeNames;
  /** Where callers reach this gateway: the root of the download URLs, without a slash at its end. */
  readonly publicUrl: string;
  /** Off only where a test compares: then nothing is loaded before a field asks for it. */
  readonly lookAhead: boolean;
}
