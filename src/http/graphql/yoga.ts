import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError, GraphQLSchema } from "graphql";
import { createYoga, type GraphQLParams, type Plugin } from "graphql-yoga";
import type { Engine, OperationRequest } from "../../engine/engine.ts";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { parseBody, parseQueryString } from "./params.ts";
import { encodeResult, resultTypeFor } from "./response.ts";

/** What Yoga is given beside the request. */
export interface YogaContext {
  readonly operation: Omit<OperationRequest, "params" | "isReadOnly">;
  /** The body of a POST, which was read before. */
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
  readonly publicError: (thrown: unknown) => GraphQLError;
}

/**
 * Yoga as a codec around the engine, for everything but a POST that is answered in one piece: GET, event streams, and
 * whatever is no request. What a request means is decided by the engine alone.
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
    extraParamNames: ["documentId"],
    parserAndValidationCache: false,
    plugins: [useParams(), useEngine(engine)],
  });
  return (request, response, context) => yoga.handleNodeRequestAndResponse(request, response, context);
}

/** Reads parameters by our own rules; whether there is a document is the engine's to say. */
const useParams = (): Plugin<object, YogaContext> => ({
  onRequestParse({ request, url, serverContext, setRequestParser }) {
    if (request.method === "GET") setRequestParser(() => toYoga(parseQueryString(url.search.slice(1))));
    else if (serverContext.body) {
      const { body } = serverContext;
      setRequestParser(() => toYoga(parseBody(body)));
    }
  },
});

/** The types of Yoga know no null, which GraphQL over HTTP allows. */
const toYoga = (params: OperationParams) => params as GraphQLParams;

const useEngine = (engine: Engine): Plugin<object, YogaContext> => ({
  onParams({ params, request, context, setParams, setParamsHandler }) {
    // Yoga refuses what has no text of a document, which its hash may stand for.
    setParams({ ...params, query: params.query ?? "" });
    setParamsHandler(() =>
      engine.run({
        ...(context as YogaContext).operation,
        params: params as OperationParams,
        isReadOnly: request.method === "GET",
      }),
    );
  },
  onResultProcess({ request, result, serverContext, setResult, setResultProcessor }) {
    // Nothing is deferred or streamed, so there is one result.
    if (Array.isArray(result) || Symbol.asyncIterator in result) return;
    const { requestId } = serverContext.operation.scope;
    setResult(engine.finish(result, requestId));
    const type = resultTypeFor(request.headers.get("accept") ?? undefined);
    if (!type) return;
    setResultProcessor((finished, { Response }) => {
      const { status, headers, body } = encodeResult(finished as typeof result, type, requestId);
      return new Response(body, { status, headers });
    }, type);
  },
  onResponse({ serverContext, response }) {
    response.headers.set("x-request-id", serverContext.operation.scope.requestId);
    response.headers.set("cache-control", "private, no-store");
  },
});
