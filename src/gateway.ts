import type { Registry } from "prom-client";
import { Callers } from "./caller.ts";
import type { Config } from "./config.ts";
import { watchSettings } from "./config/reload.ts";
import {
  engineSettings,
  hasPage,
  mcpSettings,
  placeSettings,
  redisShareSettings,
  sharingSettings,
  subscriptionSettings,
} from "./config/parts.ts";
import { createEngine } from "./engine/engine.ts";
import { createPlan, type Planner } from "./engine/plan/plan.ts";
import { publicError } from "./engine/errors.ts";
import { HeldBytes } from "./held.ts";
import type { Log } from "./log.ts";
import { schemaFor } from "./graphql/schema.ts";
import { createTypeNames } from "./graphql/core/kinds.ts";
import { createDelivery } from "./http/delivery.ts";
import { createDownloads } from "./http/downloads.ts";
import { createExports } from "./http/export/door.ts";
import { createPage } from "./http/graphiql/page.ts";
import { Doors } from "./http/doors.ts";
import { loadMcp } from "./http/mcp/load-mcp.ts";
import { createIdentify } from "./http/identity.ts";
import { createOperations, type ContextSettings } from "./http/operation.ts";
import { LOCAL_PAGES } from "./http/origins.ts";
import { createRouter } from "./http/router.ts";
import { Turns } from "./engine/turns.ts";
import { createGraphqlHandler } from "./http/graphql/handler.ts";
import { createSubscriptions } from "./http/graphql/subscriptions.ts";
import { type Clock, systemClock } from "./clock.ts";
import { tickSessions } from "./live/tick-session.ts";
import { createClient } from "./rest/client/client.ts";
import type { ProfileName } from "./rest/api/profile.ts";
import { builtInProfile } from "./rest/api/profiles.ts";
import { RefusedBatches } from "./rest/session/refused-batches.ts";
import { rememberViewers } from "./rest/session/session.ts";
import { SharedReads } from "./rest/session/shared-reads.ts";
import { openRedisShares } from "./redis/shares.ts";
import { createEventLog } from "./observability/event-log.ts";
import { createReload, type ReloadSettings } from "./reload.ts";
import { connectorOf, describeService, version } from "./service.ts";
import { createTelemetry } from "./observability/telemetry.ts";
import { openUpstreamSpan } from "./observability/tracing.ts";

export interface GatewayOptions {
  readonly config: Config;
  readonly upstreamUrl: URL;
  readonly log: Log;
  /** The texts of the settings. Where they are given, the files that they name can be read again. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Path below which callers reach the gateway, without `PUBLIC_URL`: `/rungraph`. Empty by default. */
  readonly prefix?: string;
  /** The token that GraphiQL starts with. Only the demo has one. */
  readonly exampleToken?: string;
  /** The profile when the settings name none. The demo sets it. */
  readonly profile?: ProfileName;
  /** Collects the metrics of all workers, given those of this one. By default there is one process. */
  readonly metricsOf?: (own: Registry) => () => Promise<string>;
  /** Whether selections are prefetched. Tests switch it off to compare. */
  readonly lookAhead?: boolean;
  /** Creates the plans of operations. Tests replace it to compare with graphql-js. */
  readonly planner?: Planner;
  /** The clock of subscriptions, of kept responses and of the circuit breaker. Tests advance it by hand. */
  readonly clock?: Clock;
}

/** Creates the gateway. `handle` is a request listener for `node:http`. */
export function createGateway({
  config,
  upstreamUrl,
  log,
  environment,
  prefix = "",
  exampleToken,
  profile = "document",
  metricsOf = (own) => () => own.metrics(),
  lookAhead = true,
  planner = createPlan,
  clock = systemClock,
}: GatewayOptions) {
  const fallback = builtInProfile(profile);
  const events = createEventLog(log);
  const callers = new Callers(config.CALLER_SALT);
  const identify = createIdentify(callers, config.TRUSTED_PROXIES);
  const delivery = createDelivery({
    callers,
    clock,
    maxWaitingBytes: config.MAX_WAITING_BYTES,
    readTimeoutMs: config.READ_TIMEOUT_MS,
  });
  const telemetry = createTelemetry({
    log,
    version,
    load: () => ({
      ...client.pressure(),
      operations: doors.taken("operation"),
      downloads: doors.taken("download"),
      subscriptions: doors.taken("stream"),
      polls: subscriptions.polls(),
      waitingBytes: delivery.waitingBytes(),
    }),
    now: clock.now,
    deadlines: { operation: config.REQUEST_TIMEOUT_MS, upstream: config.UPSTREAM_TIMEOUT_MS },
  });
  const turns = new Turns(callers);
  const heldBytes = new HeldBytes(config.MAX_UPSTREAM_BYTES, callers);
  const redis = openRedisShares({
    ...redisShareSettings(config, upstreamUrl),
    ...events.redis,
    clock,
    onDocument: telemetry.sharedDocument,
    onResponse: telemetry.sharedResponse,
  });
  let connect = connectorOf(config);
  const client = createClient({
    ...upstreamSettings(config),
    connect: (...given) => connect(...given),
    dialect: () => service.current.shared.dialect,
    replicas: redis.replicas,
    clock,
    upstreamUrl,
    callers,
    heldBytes,
    onFault: events.wrongType,
    onFailure: events.upstreamFailure,
    onRequest: telemetry.upstreamRequest,
    turnsFor: turns.turnsFor,
    openSpan: openUpstreamSpan,
  });
  const doors = new Doors({ callers, ...placeSettings(config), isQueueFull: client.isQueueFull });
  const names = createTypeNames(config.TYPE_NAMES);
  const toPublic = (error: unknown) => publicError(error, events.unexpected);

  const schema = schemaFor(names);
  const trusted = config.TRUSTED_DOCUMENTS ? { current: config.TRUSTED_DOCUMENTS } : null;
  const engine = createEngine({
    schema,
    ...engineSettings(config, trusted, redis.documents),
    turns,
    heldBytes,
    publicError: toPublic,
    planner,
  });
  const isExplainable = config.EXPLAIN ?? exampleToken !== undefined;
  const sharing = { ...sharingSettings(config), now: clock.now, onShared: telemetry.sharedRead };
  const reads = new SharedReads(sharing, callers);
  const openService = (now: Config) => {
    const { facts, ...described } = describeService(now, fallback, upstreamUrl);
    const refused = new RefusedBatches(events.refusedBatch);
    const viewers = rememberViewers();
    return { shared: { ...described, isReplaced: false, refused, viewers, reads }, facts };
  };
  const service = { current: openService(config) };
  const width = config.MAX_UPSTREAM_WIDTH;
  const contexts: ContextSettings = {
    client,
    doors,
    takeTurn: turns.take,
    service,
    bounds: { width, requests: config.MAX_UPSTREAM_REQUESTS, yields: false, poll: null },
    names,
    publicUrl: config.PUBLIC_URL?.href.replace(/\/+$/, ""),
    prefix,
    lookAhead,
  };

  const isDemo = exampleToken !== undefined;
  const origins = isDemo ? [...config.CORS_ORIGINS, LOCAL_PAGES] : config.CORS_ORIGINS;
  const subscriptions = createSubscriptions({
    ...subscriptionSettings(config),
    origins,
    schema,
    engine,
    callers,
    identify,
    doors,
    delivery,
    clock,
    openSession: tickSessions(client, { service, width, timeoutMs: config.REQUEST_TIMEOUT_MS }),
    contexts,
    onOperation: telemetry.operation,
  });
  const openOperation = createOperations({ contexts, isExplainable, telemetry });
  const protocol = { schema, engine, delivery, openOperation };

  const downloads = {
    identify,
    publicError: toPublic,
    doors,
    delivery,
    onDownload: telemetry.download,
  };
  const router = createRouter({
    identify,
    doors,
    graphql: createGraphqlHandler({ ...protocol, publicError: toPublic, doors, subscriptions }),
    mcp: loadMcp({ ...protocol, ...mcpSettings(config, trusted), names, version }),
    downloads: [
      createDownloads({ ...downloads, client, service, names }),
      createExports({ ...downloads, schema, contexts }),
    ],
    page: hasPage(config)
      ? createPage({
          schema,
          names,
          exampleToken: exampleToken ?? null,
          capabilities: () => service.current.shared.server.capabilities,
          isExplainable,
          onError: events.unexpected,
        })
      : null,
    telemetry,
    metrics: config.METRICS ? metricsOf(telemetry.registry) : null,
    origins,
    bodies: { callers, maxBytes: config.MAX_BODY_BYTES, maxWaitingBytes: config.MAX_WAITING_BYTES },
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    onError: events.unexpected,
    takeTurn: turns.take,
  });
  const take: ReloadSettings["take"] = (now, has) => {
    if (has("connection")) {
      connect = connectorOf(now);
      client.renew();
    }
    if (has("documents") && trusted && now.TRUSTED_DOCUMENTS) trusted.current = now.TRUSTED_DOCUMENTS;
    if (has("headers") || has("profile")) {
      service.current.shared.isReplaced = true;
      service.current = openService(now);
      for (const ofCaller of reads.room.parts()) ofCaller.endSharing();
    }
    // A subscription compares what it reads with what it has read.
    if (has("profile")) subscriptions.restart();
  };
  const reloads = environment
    ? watchSettings({
        environment,
        intervalMs: config.RELOAD_INTERVAL_MS,
        clock,
        ...createReload(config, {
          log,
          onOutcome: telemetry.reloaded,
          take,
        }),
      })
    : null;
  return {
    handle: router.listen,
    /** A listener for `upgrade` of `node:http`. */
    upgrade: subscriptions.upgrade,
    /** Begins to drain: from now on nothing begins that can last, and every response closes its connection. */
    announceEnd: () => {
      doors.drain();
      router.announceEnd();
    },
    /** Ends subscriptions. Resolves when no request is unanswered. */
    drain: () => {
      doors.drain();
      router.announceEnd();
      subscriptions.drain();
      return router.drained();
    },
    refuseUnfinished: router.refuseUnfinished,
    /** Connects to the service without sending anything. Rejects when that fails. */
    reachUpstream: () => client.reach(),
    /** Reads the files that settings name again. */
    reload: () => reloads?.read(),
    close: async () => {
      reloads?.stop();
      redis.close();
      await client.close();
    },
  };
}

/** The settings of the upstream client. */
const upstreamSettings = (config: Config) => ({
  connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
  headersTimeoutMs: config.UPSTREAM_HEADERS_TIMEOUT_MS,
  responseTimeoutMs: config.UPSTREAM_TIMEOUT_MS,
  idleTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
  connections: config.UPSTREAM_CONNECTIONS,
  connectionsPerCaller: config.UPSTREAM_CONNECTIONS_PER_TOKEN,
  queue: config.UPSTREAM_QUEUE,
  maxJsonBytes: config.MAX_JSON_BYTES,
  retries: config.UPSTREAM_RETRIES,
});
