import type { TracedContext, ResponsePath } from "../../engine/field-extensions.ts";
import type { Session } from "../../rest/session/session.ts";
import type { CallerLive } from "../../live/live.ts";
import type { Capability } from "../../rest/api/endpoint.ts";
import type { Server } from "../../rest/api/server.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";

/** The gateway's version, capabilities and limits, which the field `gateway` exposes. */
export interface GatewayDetails {
  readonly version: string;
  readonly upstreamApiVersion: string;
  /** The time zone of the service; null if it is not known. */
  readonly timeZone: string | null;
  readonly capabilities: readonly Capability[];
  readonly maxUpstreamRequests: number;
  readonly maxRootFields: number;
  readonly maxPageSize: number;
  readonly maxScannedRows: number;
  readonly maxLogBytes: number;
}

/** The context of resolvers. Each operation has one, and so has each event of a subscription. */
export interface Context extends TracedContext {
  readonly session: Session;
  readonly server: Server;
  readonly gateway: GatewayDetails;
  /** The URL under which clients reach the gateway, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether selections are prefetched. False only in tests that compare the results. */
  readonly lookAhead: boolean;
  /** Called when a field returns a resource without an upstream request; null without a trace. */
  readonly onFree: (() => void) | null;
  /** Called with the number of rows that the gateway compares, and with the arguments that require this; null without a trace. */
  readonly onScan: ((compared: readonly string[], rows: number) => void) | null;
  readonly at: ((path: ResponsePath) => Context) | null;
  /** Runs a long computation in time slices that callers share fairly. The promise never settles if the operation ends first. */
  readonly runCooperatively: <Result>(task: CooperativeTask<Result>) => Promise<Result>;
  /** Calls `read` once per key and operation. Later calls with the same key return the same promise. */
  readonly once: <Result>(key: string, read: () => Promise<Result>) => Promise<Result>;
  /** Runs a computation once per source object and arguments. Later calls in the same operation return the same promise. */
  readonly memoized: <Result>(
    source: object,
    args: readonly unknown[],
    createTask: () => CooperativeTask<Result>,
  ) => Promise<Result>;
}

/** The context in which a subscription begins. Each event is executed in its own context. */
export interface StreamContext extends Context {
  readonly live: CallerLive;
}
