import type { GrowthSource } from "../../live/growth-poll.ts";
import type { StateSource } from "../../live/state-poll.ts";
import type { LiveStream } from "../../live/stream.ts";
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

/** The polls of the caller's token. */
interface CallerLive {
  /** Subscribes to a value. `next` returns the next event of a state; null when all of it was told. */
  readonly watch: <State extends object, Event>(
    source: StateSource<State>,
    next: (state: State) => Event | null,
  ) => LiveStream<Event>;
  /** Subscribes to something that grows, from a position on. */
  readonly follow: <Position, Item>(
    source: GrowthSource<Position, Item>,
    position: Position,
  ) => LiveStream<Item>;
}

/** The context in which a subscription begins. Its events are executed in contexts of their own. */
export interface StreamContext extends Context {
  readonly live: CallerLive;
}
