import type { TracedContext, ResponsePath } from "../../engine/field-extensions.ts";
import type { Session } from "../../rest/session/session.ts";
import type { CallerLive } from "../../live/live.ts";
import type { Capability } from "../../rest/api/endpoint.ts";
import type { Server } from "../../rest/api/server.ts";
import type { Steps } from "./steps.ts";

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

/** The context of resolvers, of one operation or event. */
export interface Context extends TracedContext {
  readonly session: Session;
  readonly server: Server;
  readonly gateway: GatewayDetails;
  /** Root of the download URLs, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether selections are prefetched. Tests switch prefetching off to compare results. */
  readonly lookAhead: boolean;
  /** Called when a link costs no upstream request; null without a trace. */
  readonly onFree: (() => void) | null;
  /** Called when the gateway itself compares rows, with the arguments that require it; null without a trace. */
  readonly onScan: ((compared: readonly string[], rows: number) => void) | null;
  readonly at: ((path: ResponsePath) => Context) | null;
  /** Runs long work in time slices, fairly among callers. Never resolves when the operation is stopped. */
  readonly runCooperatively: <Result>(steps: Steps<Result>) => Promise<Result>;
  /** Starts a read once for all fields of the operation with the same key. */
  readonly once: <Result>(key: string, read: () => Promise<Result>) => Promise<Result>;
  /** Runs the steps once for all fields of the operation with the same source and the same arguments. */
  readonly memoized: <Result>(
    source: object,
    args: readonly unknown[],
    steps: () => Steps<Result>,
  ) => Promise<Result>;
}

/** The context in which a subscription begins. Each event is executed in its own context. */
export interface StreamContext extends Context {
  readonly live: CallerLive;
}
