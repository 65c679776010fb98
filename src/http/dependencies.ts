import type { GraphQLError, GraphQLSchema } from "graphql";
import type { MemoryBudget } from "../callers/memory-budget.ts";
import type { Config } from "../config.ts";
import type { Engine } from "../engine/engine.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import type { GatewayDetails } from "../graphql/core/context.ts";
import type { createLive } from "../live/live.ts";
import type { Telemetry } from "../observability/telemetry.ts";
import type { Client } from "../rest/client/client.ts";
import type { SessionClient, SharedSettings } from "../rest/session/session.ts";
import type { Clock } from "../util/clock.ts";
import type { Admission } from "./admission.ts";
import type { ResolveIdentity } from "./identity.ts";
import type { Origins } from "./request-target.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** Dependencies shared by all request handlers. */
export interface GatewayDependencies {
  readonly config: Config;
  readonly clock: Clock;
  /** The schema with the served names of types. */
  readonly schema: GraphQLSchema;
  readonly rename: (text: string) => string;
  readonly engine: Engine;
  readonly client: Client;
  readonly shared: SharedSettings;
  /** The client and the shared settings of dry runs, which read made-up records. */
  readonly dryRun: { readonly client: SessionClient; readonly shared: SharedSettings };
  readonly details: GatewayDetails;
  readonly live: ReturnType<typeof createLive>;
  readonly lookAhead: boolean;
  /** The gateway's URL for callers; undefined if the URL of each request is used. */
  readonly publicUrl: string | undefined;
  /** Path below which callers reach the gateway, if `publicUrl` is undefined. */
  readonly prefix: string;
  /** Origins whose pages may call the gateway, besides the gateway's own origin. */
  readonly origins: Origins;
  readonly resolveIdentity: ResolveIdentity;
  readonly admission: Admission;
  readonly memoryBudget: MemoryBudget;
  readonly responseWriter: ResponseWriter;
  readonly telemetry: Telemetry;
  /** Whether callers may request `extensions.explain`. */
  readonly isExplainable: boolean;
  readonly scheduler: Scheduler;
  readonly publicError: (error: unknown) => GraphQLError;
  readonly onError: (error: unknown) => void;
}
