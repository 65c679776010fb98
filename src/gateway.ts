import type { Registry } from "prom-client";
import { Callers } from "./caller.ts";
import type { Config } from "./config.ts";
import {
  engineSettings,
  hasPage,
  mcpSettings,
  placeSettings,
  redisShareSettings,
  sharingSettings,
  subscriptionSettings,
} from "./config/parts.ts";
import { readVersion } from "./installation.ts";
import { createEngine } from "./engine/engine.ts";
import { createPlan, type Planner } from "./engine/plan/plan.ts";
import type { GatewayFacts } from "./graphql/core/context.ts";
import { publicError } from "./engine/errors.ts";
import type { Log } from "./log.ts";
import { schemaFor } from "./graphql/schema.ts";
import { createTypeNames } from "./graphql/core/kinds.ts";
import { createDelivery } from "./http/delivery.ts";
import { createDownloads } from "./http/downloads.ts";
import { createPage } from "./http/graphiql/page.ts";
import { Doors } from "./http/doors.ts";
import { loadMcp } from "./http/mcp/load-mcp.ts";
import { createIdentify } from "./http/identity.ts";
import { createOperations, type ContextSettings } from "./http/operation.ts";
import { createRouter } from "./http/router.ts";
import { Turns } from "./engine/turns.ts";
import { createGraphqlHandler } from "./http/graphql/handler.ts";
import { createSubscriptions } from "./http/graphql/subscriptions.ts";
import { type Clock, systemClock } from "./clock.ts";
import { tickSessions } from "./live/tick-session.ts";
import { createClient } from "./rest/client/client.ts";
import { createConnector } from "./rest/client/connector.ts";
import { user } from "./rest/api/kinds.ts";
import type { Profile, ProfileName } from "./rest/api/profile.ts";
import { builtInProfile } from "./rest/api/profiles.ts";
import { describeServer, type Server } from "./rest/api/server.ts";
import { RefusedBatches } from "./rest/session/batches.ts";
import { SharedReads } from "./rest/session/shared-reads.ts";
import { openRedisShares } from "./redis/shares.ts";
import { createEventLog } from "./observability/event-log.ts";
import type { RateLimit } from "./rate.ts";
import { createTelemetry } from "./observability/telemetry.ts";
import { openUpstreamSpan } from "./observability/tracing.ts";

export interface GatewayOptions {
  readonly config: Config;
  readonly upstreamUrl: URL;
  readonly log: Log;
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

const version = readVersion();

/** Creates the gateway. `handle` is a request listener for `node:http`. */
export function createGateway({
  config,
  upstreamUrl,
  log,
  prefix = "",
  exampleToken,
  profile = "document",
  metricsOf = (own) => () => own.metrics(),
  lookAhead = true,
  planner = createPlan,
  clock = systemClock,
}: GatewayOptions) {
  const server = describeServer(config.UPSTREAM_PROFILE ?? builtInProfile(profile));
  const events = createEventLog(log);
  const callers = new Callers();
  const identify = createIdentify(callers, config.TRUSTED_PROXIES);
  const delivery = createDelivery({
    callers,
    clock,
    maxWaitingBytes: config.MAX_WAITING_BYTES,
    readTimeoutMs: config.READ_TIMEOUT_MS,
  });
  const telemetry = createTelemetry(log, version, () => ({
    ...client.pressure(),
    operations: doors.taken("operation"),
    downloads: doors.taken("download"),
    subscriptions: doors.taken("stream"),
    polls: subscriptions.polls(),
    waitingBytes: delivery.waitingBytes(),
  }));
  const turns = new Turns(callers);
  const redis = openRedisShares({
    ...redisShareSettings(config, upstreamUrl),
    ...events.redis,
    clock,
    onDocument: telemetry.sharedDocument,
    onResponse: telemetry.sharedResponse,
  });
  const client = createClient({
    ...upstreamSettings(config, server),
    replicas: redis.replicas,
    clock,
    upstreamUrl,
    callers,
    onFault: events.wrongType,
    onFailure: events.upstreamFailure,
    onRequest: telemetry.upstreamRequest,
    takeTurn: turns.take,
    openSpan: openUpstreamSpan,
  });
  const doors = new Doors({ callers, ...placeSettings(config), isQueueFull: client.isQueueFull });
  const names = createTypeNames(config.TYPE_NAMES);
  const toPublic = (error: unknown) => publicError(error, events.unexpected);

  const schema = schemaFor(names);
  const engine = createEngine({
    schema,
    ...engineSettings(config, redis.documents),
    turns,
    publicError: toPublic,
    planner,
  });
  const isExplainable = config.EXPLAIN ?? exampleToken !== undefined;
  const sharing = { ...sharingSettings(config), now: clock.now, onShared: telemetry.sharedRead };
  const shared = {
    server,
    refused: new RefusedBatches(events.refusedBatch),
    reads: new SharedReads(sharing, callers),
  };
  const width = config.MAX_UPSTREAM_WIDTH;
  const contexts: ContextSettings = {
    client,
    doors,
    takeTurn: turns.take,
    sessions: {
      shared,
      bounds: { width, requests: config.MAX_UPSTREAM_REQUESTS, yields: false, poll: null },
    },
    gateway: factsOf(config, server),
    names,
    publicUrl: config.PUBLIC_URL?.href.replace(/\/+$/, ""),
    prefix,
    lookAhead,
  };

  const subscriptions = createSubscriptions({
    ...subscriptionSettings(config),
    schema,
    engine,
    callers,
    identify,
    doors,
    delivery,
    clock,
    openSession: tickSessions(client, { shared, width, timeoutMs: config.REQUEST_TIMEOUT_MS }),
    contexts,
    onOperation: telemetry.operation,
  });
  const openOperation = createOperations({ contexts, isExplainable, telemetry });
  const protocol = { schema, engine, delivery, openOperation };

  const router = createRouter({
    identify,
    doors,
    graphql: createGraphqlHandler({ ...protocol, publicError: toPublic, doors, subscriptions }),
    mcp: loadMcp({ ...protocol, ...mcpSettings(config), names, version }),
    download: createDownloads({
      client,
      server,
      names,
      identify,
      publicError: toPublic,
      doors,
      delivery,
      onDownload: telemetry.download,
    }),
    page: hasPage(config)
      ? createPage({
          names,
          exampleToken: exampleToken ?? null,
          isExplainable,
          onError: events.unexpected,
        })
      : null,
    telemetry,
    metrics: config.METRICS ? metricsOf(telemetry.registry) : null,
    origins: config.CORS_ORIGINS,
    bodies: { callers, maxBytes: config.MAX_BODY_BYTES, maxWaitingBytes: config.MAX_WAITING_BYTES },
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    onError: events.unexpected,
    takeTurn: turns.take,
  });
  return {
    handle: router.listen,
    /** A listener for `upgrade` of `node:http`. */
    upgrade: subscriptions.upgrade,
    /** Resolves when no request is unanswered. */
    drain: () => {
      doors.drain();
      subscriptions.drain();
      return router.drain();
    },
    /** Connects to the service without sending anything. Rejects when that fails. */
    reachUpstream: () => client.reach(),
    close: async () => {
      redis.close();
      await client.close();
    },
  };
}

/** The settings of the upstream client. */
const upstreamSettings = (config: Config, { profile, override }: Server) => ({
  cheapest: override(user.me) ?? user.me,
  connect: createConnector({
    connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
    proxy: config.UPSTREAM_PROXY ?? null,
    tls: {
      ...(config.UPSTREAM_CA_FILE && { ca: config.UPSTREAM_CA_FILE }),
      ...(config.UPSTREAM_CERT_FILE && { cert: config.UPSTREAM_CERT_FILE }),
      ...(config.UPSTREAM_KEY_FILE && { key: config.UPSTREAM_KEY_FILE }),
    },
  }),
  headers: { "user-agent": `rungraph/${version}`, ...config.UPSTREAM_HEADERS },
  secrets: Object.values(config.UPSTREAM_HEADERS).flatMap(secretWordsOf),
  basePath: profile.basePath,
  authorizationScheme: profile.authorization.scheme,
  connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
  headersTimeoutMs: config.UPSTREAM_HEADERS_TIMEOUT_MS,
  responseTimeoutMs: config.UPSTREAM_TIMEOUT_MS,
  idleTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
  connections: config.UPSTREAM_CONNECTIONS,
  connectionsPerCaller: config.UPSTREAM_CONNECTIONS_PER_TOKEN,
  queue: config.UPSTREAM_QUEUE,
  maxJsonBytes: config.MAX_JSON_BYTES,
  maxHeldBytes: config.MAX_UPSTREAM_BYTES,
  retries: config.UPSTREAM_RETRIES,
  rateLimit: config.UPSTREAM_RATE_LIMIT === undefined ? limitOf(profile) : config.UPSTREAM_RATE_LIMIT,
});

const limitOf = ({ rateLimit }: Profile): RateLimit | null =>
  rateLimit && { requests: rateLimit.requests, periodMs: rateLimit.seconds * 1_000 };

/** Shorter words in a header, in characters, are not treated as secrets: they occur in messages by chance. */
const MIN_SECRET_LENGTH = 8;

const secretWordsOf = (value: string): string[] =>
  value.split(/\s+/).filter(({ length }) => length >= MIN_SECRET_LENGTH);

const factsOf = (config: Config, server: Server): GatewayFacts => ({
  version,
  upstreamApiVersion: server.profile.apiVersion,
  capabilities: server.capabilities,
  maxDepth: config.MAX_DEPTH,
  maxUpstreamRequests: config.MAX_UPSTREAM_REQUESTS,
  maxPageSize: config.MAX_PAGE_SIZE,
  maxLogBytes: config.MAX_LOG_BYTES,
});
