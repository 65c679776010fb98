import { CallerRegistry } from "./callers/callers.ts";
import { type Config, hasPage } from "./config.ts";
import { createCoordinates } from "./engine/coordinates.ts";
import { createEngine } from "./engine/engine.ts";
import type { Planner } from "./engine/plan/plan.ts";
import { publicError } from "./engine/errors.ts";
import { MemoryBudget } from "./callers/memory-budget.ts";
import type { Log } from "./observability/log.ts";
import { documentsFor, schema as ownSchema, schemaFor } from "./graphql/schema.ts";
import { createResponseWriter } from "./http/response-writer.ts";
import { createDownloads } from "./http/downloads.ts";
import { createExports } from "./http/export/exports.ts";
import { createPage } from "./http/graphiql/page.ts";
import { createAdmission } from "./http/admission.ts";
import { lazy } from "./http/lazy.ts";
import { createIdentityResolver } from "./http/identity.ts";
import type { GatewayDependencies } from "./http/dependencies.ts";
import { createLive } from "./live/live.ts";
import { LOCAL_PAGES } from "./http/request-target.ts";
import { createRouter } from "./http/router.ts";
import { afterPendingIo, Scheduler } from "./engine/scheduler.ts";
import { createGraphqlHandler } from "./http/graphql/handler.ts";
import { createWebSockets } from "./http/graphql/web-socket.ts";
import { type Clock, systemClock } from "./util/clock.ts";
import { createClient } from "./rest/client/client.ts";
import { type BuiltInName, builtInProfile } from "./rest/api/profiles.ts";
import { createDryRunClient } from "./rest/session/dry-run.ts";
import { ReadCache } from "./rest/session/read-cache.ts";
import { createEventLog } from "./observability/event-log.ts";
import { toUpstreamConfig } from "./upstream.ts";
import { createTelemetry } from "./observability/telemetry.ts";
import { openUpstreamSpan } from "./observability/tracing.ts";

export interface GatewaySettings {
  readonly config: Config;
  readonly upstreamUrl: URL;
  readonly log: Log;
  /** Path below which callers reach the gateway, such as `/rungraph`, if `PUBLIC_URL` is not set. Empty by default. */
  readonly prefix?: string;
  /** The token with which GraphiQL starts. Only the demo has one. */
  readonly exampleToken?: string;
  /** The profile to use if the settings name none. The demo sets it. */
  readonly profile?: BuiltInName;
  /** Whether selections are prefetched. Tests switch prefetching off to compare results. */
  readonly lookAhead?: boolean;
  /** Creates the plans of operations. Tests replace it to compare with graphql-js. */
  readonly planner?: Planner;
  /** The clock of subscriptions, rate limits, cached responses, the circuit breaker and slow readers. Tests replace it. */
  readonly clock?: Clock;
}

/** Creates the gateway. `handle` is a request listener for `node:http`. */
export function createGateway(options: GatewaySettings) {
  const { config, upstreamUrl, log, exampleToken, planner } = options;
  const { prefix = "", profile = "document", lookAhead = true, clock = systemClock } = options;
  const events = createEventLog(log);
  const callers = new CallerRegistry(config.CALLER_SALT);
  const responseWriter = createResponseWriter(config, callers, clock);
  const schema = schemaFor(config.TYPE_NAMES);
  const { FIELD_METRICS: which } = config;
  const telemetry = createTelemetry({
    log,
    coordinatesOf: which === "off" ? null : createCoordinates(schema, which),
    load: () => ({
      ...client.stats(),
      operations: admission.operation.taken,
      downloads: admission.download.taken,
      subscriptions: admission.stream.taken,
      polls: live.polls(),
      waitingBytes: responseWriter.waitingBytes(),
    }),
    now: clock.now,
    deadlines: { operation: config.REQUEST_TIMEOUT_MS, upstream: config.UPSTREAM_TIMEOUT_MS },
  });
  const scheduler = new Scheduler(callers);
  const memoryBudget = new MemoryBudget(config.MAX_UPSTREAM_BYTES, callers);
  const { details, server, requestFormat } = toUpstreamConfig(config, builtInProfile(profile), upstreamUrl);
  const client = createClient({
    proxy: config.UPSTREAM_PROXY ?? null,
    tls: { ca: config.UPSTREAM_CA_FILE, cert: config.UPSTREAM_CERT_FILE, key: config.UPSTREAM_KEY_FILE },
    connectionAgeMs: config.UPSTREAM_CONNECTION_AGE_MS,
    connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
    headersTimeoutMs: config.UPSTREAM_HEADERS_TIMEOUT_MS,
    responseTimeoutMs: config.UPSTREAM_TIMEOUT_MS,
    idleTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
    connections: config.UPSTREAM_CONNECTIONS,
    connectionsPerCaller: config.UPSTREAM_CONNECTIONS_PER_TOKEN,
    initialConnections: config.UPSTREAM_INITIAL_CONNECTIONS,
    queue: config.UPSTREAM_QUEUE,
    maxJsonBytes: config.MAX_JSON_BYTES,
    retries: config.UPSTREAM_RETRIES,
    requestFormat,
    clock,
    upstreamUrl,
    callers,
    memoryBudget,
    onMismatch: events.wrongType,
    onFailure: events.upstreamFailure,
    onRequest: telemetry.upstreamRequest,
    // Responses that arrive together are parsed together.
    runCooperatively: (...parsing) => afterPendingIo(() => scheduler.runCooperatively(...parsing)),
    openSpan: openUpstreamSpan,
  });
  const admission = createAdmission(config, callers, client.shedLoad);
  const toPublic = (error: unknown) => publicError(error, events.unexpected);

  const engine = createEngine({
    schema,
    trusted: config.TRUSTED_DOCUMENTS,
    cacheBytes: config.DOCUMENT_CACHE_BYTES,
    isIntrospectable: config.INTROSPECTION,
    limits: { depth: config.MAX_DEPTH, tokens: config.MAX_TOKENS, mutationFields: config.MAX_ROOT_FIELDS },
    executionLimits: {
      selected: config.MAX_FIELDS,
      fields: config.MAX_RESULT_FIELDS,
      bytes: config.MAX_RESULT_BYTES,
    },
    scheduler,
    memoryBudget,
    publicError: toPublic,
    planner,
  });
  const sharing = {
    ttlMs: config.CACHE_TTL_MS,
    staleMs: config.STALE_MAX_AGE_MS,
    maxBytes: config.CACHE_BYTES,
    now: clock.now,
    onShared: telemetry.sharedRead,
  };
  const reads = new ReadCache(sharing, callers);
  const shared = { server, onRefused: events.refusedBatch, reads };
  // A dry run shares nothing with operations that are executed.
  const dryRun = {
    client: createDryRunClient(client.open, server.profile),
    shared: {
      server,
      onRefused: () => {},
      reads: new ReadCache({ ...sharing, ttlMs: 0, staleMs: 0, onShared: () => {} }, callers),
    },
  };
  const live = createLive({
    callers,
    clock,
    client,
    shared,
    memoryBudget,
    requestsPerMinute: config.LIVE_REQUESTS_PER_MINUTE,
    limitOf: requestFormat.limitOf,
    commonLimit: requestFormat.limitOf(requestFormat.cheapest),
    concurrency: config.MAX_UPSTREAM_WIDTH,
    timeoutMs: config.REQUEST_TIMEOUT_MS,
  });
  const dependencies: GatewayDependencies = {
    config,
    clock,
    schema,
    rename: documentsFor(config.TYPE_NAMES),
    engine,
    client,
    shared,
    dryRun,
    details,
    live,
    lookAhead,
    publicUrl: config.PUBLIC_URL?.href.replace(/(?<!\/)\/+$/, ""),
    prefix,
    origins: exampleToken === undefined ? config.CORS_ORIGINS : [...config.CORS_ORIGINS, LOCAL_PAGES],
    resolveIdentity: createIdentityResolver(callers, config),
    admission,
    memoryBudget,
    responseWriter,
    telemetry,
    isExplainable: config.EXPLAIN ?? exampleToken !== undefined,
    scheduler,
    publicError: toPublic,
    onError: events.unexpected,
  };
  const graphql = createGraphqlHandler(dependencies);
  const webSockets = createWebSockets(dependencies);
  const loadMcp = lazy(async () => (await import("./http/mcp/handler.ts")).createMcpHandler(dependencies));
  const router = createRouter(dependencies, {
    graphql: graphql.execute,
    mcp: config.MCP === "off" ? null : async (...message) => (await loadMcp())(...message),
    others: [
      createDownloads(dependencies),
      createExports(dependencies, ownSchema),
      ...(hasPage(config) ? [createPage(dependencies, exampleToken ?? null)] : []),
    ],
  });
  return {
    handle: router.handleRequest,
    /** A listener for `upgrade` of `node:http`. */
    upgrade: webSockets.upgrade,
    /** Begins to drain: every response closes its connection. */
    announceEnd: router.announceEnd,
    /** Ends subscriptions. Resolves when no request is unanswered. */
    drain: () => {
      router.announceEnd();
      graphql.drain();
      webSockets.drain();
      return router.drained();
    },
    refuseUnfinished: router.refuseUnfinished,
    /** Connects to the service without sending a request. Rejects if no connection can be made. */
    reachUpstream: () => client.reach(),
    close: () => client.close(),
  };
}
