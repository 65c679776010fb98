import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError, GraphQLSchema } from "graphql";
import { createYoga, type GraphQLParams, type Plugin } from "graphql-yoga";
import type { Engine, Operation } from "../../engine/engine.ts";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { parseBody, parseQueryString, encodeResult, PRIVATE, resultTypeFor } from "./encoding.ts";

/** Yoga's server context. */
export interface YogaContext {
  readonly operation: Operation;
  /** The body of a POST, already read; null for other methods. */
  readonly body: Buffer | null;
}

export type YogaHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: YogaContext,
) => PromiseLike<Response> | Response;

export interface YogaSettings {
  readonly schema: GraphQLSchema;
  readonly engine: Engine;
  readonly publicError: (error: unknown) => GraphQLError;
}

/**
 * Creates the Yoga handler for everything except a POST with a single result: GET, event streams and malformed requests.
 * Yoga only decodes and encodes; the engine validates and executes.
 */
export function createYogaHandler({ schema, engine, publicError }: YogaSettings): YogaHandler {
  const yoga = createYoga<YogaContext>({
    schema,
    graphqlEndpoint: "/graphql",
    landingPage: false,
    graphiql: false,
    maskedErrors: { maskError: publicError },
    maxRequestBodySize: false,
    multipart: false,
    batching: false,
    cors: false,
    logging: false,
    extraParamNames: ["documentId", "onError"],
    parserAndValidationCache: false,
    plugins: [useParams(), useEngine(engine)],
  });
  return (request, response, context) =>
    // Safe: a request whose prototype is the request.
    yoga.handleNodeRequestAndResponse(Object.create(request, HIDDEN) as IncomingMessage, response, context);
}

/** What frameworks add to a request of `node:http`. Yoga would read the address from it, which the router has matched. */
const HIDDEN = Object.fromEntries(
  ["body", "originalUrl", "protocol", "query", "raw"].map((key) => [key, { value: undefined }]),
);

/** Replaces Yoga's parameter parsers. The engine checks whether there is a document. */
const useParams = (): Plugin<object, YogaContext> => ({
  onRequestParse({ request, url, serverContext, setRequestParser }) {
    if (request.method === "GET") setRequestParser(() => toYoga(parseQueryString(url.search.slice(1))));
    else if (serverContext.body) {
      const { body } = serverContext;
      setRequestParser(() => toYoga(parseBody(body)));
    }
  },
});

/** Yoga's types do not allow null, which GraphQL over HTTP does. */
const toYoga = (params: OperationParams) => params as GraphQLParams;

const useEngine = (engine: Engine): Plugin<object, YogaContext> => ({
  onParams({ params, context, setParams, setParamsHandler }) {
    // Yoga rejects requests without a document, but a hash may stand for it.
    setParams({ ...params, query: params.query ?? "" });
    const { operation, body } = context as YogaContext;
    const isReadOnly = body === null;
    setParamsHandler(() => engine.run(operation, params as OperationParams, { isReadOnly }));
  },
  onResultProcess({ request, result, serverContext, setResult, setResultProcessor }) {
    // Results in pieces are not Yoga's, so other results need no handling.
    if (Array.isArray(result) || Symbol.asyncIterator in result) return;
    const { extensions, scope } = serverContext.operation;
    const { requestId } = scope;
    setResult(engine.finish(result, requestId, extensions));
    const type = resultTypeFor(request.headers.get("accept") ?? undefined);
    if (!type) return;
    setResultProcessor((finished, { Response }) => {
      const { status, headers, body } = encodeResult(finished as typeof result, type, requestId);
      return new Response(body, { status, headers });
    }, type);
  },
  onResponse({ serverContext, response }) {
    response.headers.set("x-request-id", serverContext.operation.scope.requestId);
    response.headers.set("cache-control", PRIVATE);
  },
});
