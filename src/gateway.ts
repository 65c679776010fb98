import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { useDisableIntrospection } from "@graphql-yoga/plugin-disable-introspection";
import { renderGraphiQL } from "@graphql-yoga/render-graphiql";
import { createYoga, type Plugin, useExecutionCancellation } from "graphql-yoga";
import type { Logger } from "pino";
import { callerOf } from "./caller.ts";
import type { Config } from "./config.ts";
import { useDocumentCache } from "./document-cache.ts";
import { DOCUMENT_ID, useAutomaticPersistedQueries, useTrustedDocuments } from "./documents.ts";
import { createDownloads } from "./downloads.ts";
import { graphiqlOptions } from "./graphiql.ts";
import type { Context, GatewayFacts } from "./graphql/context.ts";
import { publicError } from "./graphql/errors.ts";
import { schemaFor } from "./graphql/schema.ts";
import { createTypeNames } from "./graphql/type-names.ts";
import { createDoor } from "./http.ts";
import { useOperationLimits } from "./limits/document.ts";
import { useExecutionLimits } from "./limits/execution.ts";
import { endOf, useEndOfRequest, useLastWords, useReports } from "./plugins.ts";
import type { Batch } from "./rest/batches.ts";
import { createClient } from "./rest/client.ts";
import { describeServer, type ProfileName, type Server } from "./rest/profile.ts";
import { openSession } from "./rest/session.ts";
import { createTelemetry } from "./telemetry.ts";
import { inSpan } from "./tracing.ts";

export interface GatewayOptions {
  readonly config: Config;
  readonly upstreamUrl: URL;
  readonly log: Logger;
  /** A token that GraphiQL offers: only the demo has one to give away. */
  readonly exampleToken?: string;
  /** The profile of a server that nobody needs to name: the demo's. */
  readonly profile?: ProfileName;
  /** Off only where a test compares. */
  readonly lookAhead?: boolean;
}

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** The gateway without a port: `handle` is a listener for node:http. */
export function createGateway({
  config,
  upstreamUrl,
  log,
  exampleToken,
  profile,
  lookAhead = true,
}: GatewayOptions) {
  const server = describeServer(profile ?? config.UPSTREAM_PROFILE ?? "document", config.UPSTREAM_ROWS);
  const telemetry = createTelemetry(log, () => client.pressure());
  const client = createClient({
    upstreamUrl,
    connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
    headersTimeoutMs: config.UPSTREAM_HEADERS_TIMEOUT_MS,
    exchangeTimeoutMs: config.UPSTREAM_TIMEOUT_MS,
    idleTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
    connections: config.UPSTREAM_CONNECTIONS,
    queue: config.UPSTREAM_QUEUE,
    maxJsonBytes: config.MAX_JSON_BYTES,
    retries: config.UPSTREAM_RETRIES,
    onFault: tellFaultsOnce(log),
    onExchange: telemetry.exchange,
    trace: (name, run) => inSpan(name, { "http.route": name }, run),
  });
  const gateway = factsOf(config, server);
  const names = createTypeNames(config.TYPE_NAMES);
  const refused = new Set<Batch>();
  const toPublic = (thrown: unknown) => publicError(thrown, (slip) => log.error(slip, "unexpected error"));
  const publicRoot = config.PUBLIC_URL?.href.replace(/\/+$/, "");

  const contextOf = (request: Request, response: ServerResponse): Context => {
    const caller = {
      ...callerOf(request),
      deadline: Date.now() + config.REQUEST_TIMEOUT_MS,
      signal: AbortSignal.any([endOf(request, response), AbortSignal.timeout(config.REQUEST_TIMEOUT_MS)]),
    };
    const limits = { maxExchanges: config.MAX_UPSTREAM_REQUESTS, width: config.MAX_UPSTREAM_WIDTH };
    return {
      session: openSession(client, caller, { server, refused, ...limits }),
      gateway,
      names,
      publicUrl: publicRoot ?? new URL(request.url).origin,
      lookAhead,
    };
  };

  const graphql = createYoga<{ readonly res: ServerResponse }>({
    schema: schemaFor(names),
    context: ({ request, res }) => contextOf(request, res),
    graphqlEndpoint: "/graphql",
    landingPage: false,
    // Its documents are nobody's trusted ones.
    graphiql: config.GRAPHIQL && !config.TRUSTED_DOCUMENTS && graphiqlOptions(exampleToken ?? null, names),
    renderGraphiQL,
    maskedErrors: { maskError: toPublic },
    // The door has done it, at a fraction of the cost.
    maxRequestBodySize: false,
    multipart: false,
    batching: false,
    cors: false,
    logging: false,
    extraParamNames: [DOCUMENT_ID],
    parserAndValidationCache: false,
    plugins: [
      useLastWords({ suggestions: config.INTROSPECTION }),
      useReports(telemetry.operation),
      ...documentsOf(config),
      useDocumentCache(config.DOCUMENT_CACHE_BYTES),
      ...useOperationLimits({
        depth: config.MAX_DEPTH,
        tokens: config.MAX_TOKENS,
        aliases: config.MAX_ALIASES,
        queryFields: config.MAX_ROOT_FIELDS,
        mutationFields: Math.ceil(config.MAX_ROOT_FIELDS / 2),
      }),
      useExecutionCancellation(),
      useEndOfRequest(),
      useExecutionLimits({
        selected: config.MAX_FIELDS,
        fields: config.MAX_RESULT_FIELDS,
        bytes: config.MAX_RESULT_BYTES,
      }),
      ...(config.INTROSPECTION ? [] : [useDisableIntrospection()]),
    ],
  });

  const door = createDoor({
    graphql: (request, response) => void graphql(request, response),
    download: createDownloads({ client, server, names, publicError: toPublic }),
    telemetry: config.METRICS ? telemetry : null,
    origins: config.CORS_ORIGINS,
    maxBodyBytes: config.MAX_BODY_BYTES,
    maxOperations: config.MAX_OPERATIONS,
  });
  return { handle: door.listen, drain: door.drain, close: () => client.close() };
}

function documentsOf({ TRUSTED_DOCUMENTS: trusted, APQ, DOCUMENT_CACHE_BYTES }: Config): Plugin[] {
  if (trusted) return [useTrustedDocuments(trusted)];
  return APQ ? [useAutomaticPersistedQueries(Math.ceil(DOCUMENT_CACHE_BYTES / 4))] : [];
}

const factsOf = (config: Config, server: Server): GatewayFacts => ({
  version,
  capabilities: [
    ...(server.hasLists ? (["LISTS"] as const) : []),
    ...(server.hasExperimentJobLogs ? (["EXPERIMENT_JOB_LOGS"] as const) : []),
  ],
  maxDepth: config.MAX_DEPTH,
  maxUpstreamRequests: config.MAX_UPSTREAM_REQUESTS,
  maxPageSize: config.MAX_PAGE_SIZE,
  maxLogBytes: config.MAX_LOG_BYTES,
});

/** How many different faults of the service's records are logged, each once. */
const MOST_FAULTS_TOLD = 200;

function tellFaultsOnce(log: Logger) {
  const told = new Set<string>();
  return (route: string, at: string): void => {
    const place = at.replaceAll(/\d+/g, "*");
    const key = `${route} ${place}`;
    if (told.has(key) || told.size >= MOST_FAULTS_TOLD) return;
    told.add(key);
    log.warn({ route, place }, "the service sent a value of another type: it reads as null");
  };
}
