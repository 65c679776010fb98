import { readFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { maxDepthPlugin } from "@escape.tech/graphql-armor-max-depth";
import { useDisableIntrospection } from "@graphql-yoga/plugin-disable-introspection";
import { renderGraphiQL } from "@graphql-yoga/render-graphiql";
import { GraphQLError } from "graphql";
import { createYoga, type Plugin, useExecutionCancellation, type YogaInitialContext } from "graphql-yoga";
import { type Logger } from "pino";
import { callerOf } from "./caller.ts";
import { type Config } from "./config.ts";
import { createDownloads } from "./downloads.ts";
import { graphiqlOptions } from "./graphiql.ts";
import { type Context, type GatewayFacts } from "./graphql/context.ts";
import { publicError, withExtensions } from "./graphql/errors.ts";
import { schema } from "./graphql/schema.ts";
import { type Batch } from "./rest/batches.ts";
import { createClient } from "./rest/client.ts";
import { describeServer, type ProfileName } from "./rest/profile.ts";
import { openSession } from "./rest/session.ts";

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
  lookAhead = true,
  profile,
}: GatewayOptions) {
  const server = describeServer(profile ?? config.UPSTREAM_PROFILE ?? "document", config.UPSTREAM_ROWS);
  const refused = new Set<Batch>();
  const told = new Set<string>();
  const client = createClient({
    upstreamUrl,
    connectTimeoutMs: config.UPSTREAM_CONNECT_TIMEOUT_MS,
    headersTimeoutMs: config.UPSTREAM_HEADERS_TIMEOUT_MS,
    exchangeTimeoutMs: config.UPSTREAM_TIMEOUT_MS,
    idleTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
    connections: config.UPSTREAM_CONNECTIONS,
    maxJsonBytes: config.MAX_JSON_BYTES,
    retries: config.UPSTREAM_RETRIES,
    onFault: (route, place) => {
      const key = `${route} ${place.replaceAll(/\d+/g, "*")}`;
      if (told.has(key) || told.size >= MOST_FAULTS_TOLD) return;
      told.add(key);
      log.warn(
        { route, place: place.replaceAll(/\d+/g, "*") },
        "the service sent a value of another type: it reads as null",
      );
    },
  });
  const facts: GatewayFacts = {
    version,
    capabilities: [
      ...(server.hasLists ? (["LISTS"] as const) : []),
      ...(server.hasExperimentJobLogs ? (["EXPERIMENT_JOB_LOGS"] as const) : []),
    ],
    maxDepth: config.MAX_DEPTH,
    maxUpstreamRequests: config.MAX_UPSTREAM_REQUESTS,
    maxPageSize: config.MAX_PAGE_SIZE,
    maxLogBytes: config.MAX_LOG_BYTES,
  };
  const toPublic = (thrown: unknown) =>
    publicError(thrown, (unexpected) => log.error({ err: unexpected }, "unexpected error"));
  const publicRoot = config.PUBLIC_URL?.href.replace(/\/+$/, "");

  const graphql = createYoga({
    schema,
    context: ({ request }): Context => ({
      session: openSession(
        client,
        {
          ...callerOf(request),
          deadline: Date.now() + config.REQUEST_TIMEOUT_MS,
          signal: AbortSignal.any([
            request.signal,
            endOf(request).signal,
            AbortSignal.timeout(config.REQUEST_TIMEOUT_MS),
          ]),
        },
        { server, refused, maxExchanges: config.MAX_UPSTREAM_REQUESTS, width: config.MAX_UPSTREAM_WIDTH },
      ),
      gateway: facts,
      publicUrl: publicRoot ?? new URL(request.url).origin,
      lookAhead,
    }),
    graphqlEndpoint: "/graphql",
    healthCheckEndpoint: "/healthz",
    landingPage: false,
    graphiql: config.GRAPHIQL && graphiqlOptions(exampleToken ?? null),
    renderGraphiQL,
    maskedErrors: { maskError: toPublic },
    multipart: false,
    cors: false,
    logging: false,
    plugins: [
      useRequestIds(),
      useDepthLimit(config.MAX_DEPTH),
      useExecutionCancellation(),
      useEndOfRequest(),
      ...(config.INTROSPECTION ? [] : [useDisableIntrospection()]),
    ],
  });
  const download = createDownloads({ client, server, publicError: toPublic });
  return {
    handle: (request: IncomingMessage, response: ServerResponse): void => {
      if (!download(request, response)) void graphql(request, response);
    },
    close: () => client.close(),
  };
}

/** How many different faults of the service's records are logged, each once. */
const MOST_FAULTS_TOLD = 200;

const ends = new WeakMap<Request, AbortController>();

/** Fires when the answer is complete. */
function endOf(request: Request): AbortController {
  const end = ends.get(request) ?? new AbortController();
  ends.set(request, end);
  return end;
}

/** What is still on its way to the service when the answer is complete was asked early and is not needed: it is cancelled. */
function useEndOfRequest(): Plugin {
  return {
    onExecute: ({ args }) => ({
      onExecuteDone: () => endOf((args.contextValue as YogaInitialContext).request).abort(),
    }),
  };
}

/** The request id goes into the answer's header and into every error. */
function useRequestIds(): Plugin {
  return {
    onResultProcess({ request, result, setResult }) {
      if (!("errors" in result) || !result.errors) return;
      const { requestId } = callerOf(request);
      const errors = result.errors.map((error) => withExtensions(error, { requestId }));
      setResult({ ...result, errors });
    },
    onResponse({ request, response }) {
      response.headers.set("x-request-id", callerOf(request).requestId);
    },
  };
}

function useDepthLimit(deepest: number): Plugin {
  return maxDepthPlugin({
    n: deepest,
    flattenFragments: true,
    propagateOnRejection: false,
    onReject: [
      (context) =>
        context?.reportError(
          new GraphQLError(`Expected an operation at most ${deepest} fields deep, got a deeper one.`, {
            extensions: { code: "OPERATION_TOO_DEEP" },
          }),
        ),
    ],
  });
}
