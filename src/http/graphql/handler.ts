import type { IncomingMessage, ServerResponse } from "node:http";
import { type ExecutionResult, GraphQLError } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { Engine, Operation } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import { acceptsGzip, compressEach } from "../compression.ts";
import type { Delivery } from "../delivery.ts";
import type { Doors } from "../doors.ts";
import type { HttpOperation, RequestState } from "../operation.ts";
import type { Execute } from "../router.ts";
import {
  acceptsEventStream,
  encodeResult,
  parseBody,
  parseQueryString,
  PRIVATE,
  type ResultType,
  resultTypeFor,
} from "./encoding.ts";
import {
  bodyOf,
  type Encoding,
  type FirstResult,
  mayBeIncremental,
  type PieceForm,
  pieceFormFor,
} from "./pieces.ts";
import type { Subscriptions } from "./subscriptions.ts";

interface Settings {
  readonly engine: Engine;
  readonly publicError: (error: unknown) => GraphQLError;
  readonly delivery: Delivery;
  readonly doors: Doors;
  readonly subscriptions: Pick<Subscriptions, "streams" | "openStream">;
  readonly openOperation: (request: IncomingMessage, state: RequestState) => HttpOperation;
}

/** The media types of results, for who accepts none of them. */
const ACCEPTABLE =
  "text/event-stream; charset=utf-8, multipart/mixed; charset=utf-8, application/graphql-response+json; charset=utf-8, application/json";

/** Handles GraphQL requests. A subscription becomes an event stream. */
export function createGraphqlHandler(settings: Settings): Execute {
  const { engine, publicError, delivery, doors, openOperation } = settings;
  const { streams, openStream } = settings.subscriptions;

  /** Delivers a result in pieces, compressed when the caller accepts gzip. */
  const deliver = async (
    response: ServerResponse,
    result: FirstResult,
    form: PieceForm,
    { scope: { requestId, caller }, extensions }: Operation,
    onResult: (status: number) => void,
  ): Promise<void> => {
    const finish: Encoding["finish"] = (part) => engine.finish(part, requestId);
    const plain = bodyOf(result, form, { finish, extensions });
    const isCompressed = form.isCompressible && acceptsGzip(response.req.headers["accept-encoding"]);
    const body = isCompressed ? compressEach(plain) : plain;
    const headers = { ...form.headers(requestId), ...(isCompressed && { "content-encoding": "gzip" }) };
    try {
      await delivery.stream(response, { status: 200, headers, body }, caller);
    } finally {
      result.pieces.return();
      onResult(200);
    }
  };

  const answer = async (
    response: ServerResponse,
    body: Buffer | null,
    operation: Operation,
    onResult: (status: number) => void,
  ): Promise<void> => {
    const { req: request } = response;
    const { accept } = request.headers;
    const { scope, facts, extensions } = operation;
    const { requestId, caller } = scope;
    const type = resultTypeFor(accept);
    const form = pieceFormFor(accept);
    if (!type && !form) {
      onResult(406);
      const headers = { accept: ACCEPTABLE, "x-request-id": requestId, "cache-control": PRIVATE };
      return delivery.send(response, { status: 406, headers, body: "" }, caller);
    }
    const encode = (result: ExecutionResult, as: ResultType) =>
      encodeResult(engine.finish(result, requestId, extensions), as, requestId);
    const send = (result: ExecutionResult): Promise<void> => {
      const encoded = encode(result, type ?? "application/json");
      const { status } = encoded;
      onResult(status);
      if (type || !form) return delivery.send(response, encoded, caller);
      // A single result for a caller who accepts only pieces.
      const headers = form.headers(requestId);
      return delivery.send(
        response,
        { status, headers, body: form.ends.join(form.frame(encoded.body)) },
        caller,
      );
    };
    const params = paramsOf(request, body, publicError);
    if (params instanceof GraphQLError) return send({ errors: [params] });
    if (acceptsEventStream(accept)) {
      if ((await engine.typeOf(params, scope)) === "subscription") {
        const open = () => openStream(request, scope);
        return streams.serve(response, { params, operation, openStream: open, onResult });
      }
      // It may hold the place of a stream.
      const rejected = doors.admit("operation", scope);
      if (rejected) {
        facts.codes = [rejected.code];
        const encoded = encode({ errors: [publicError(rejected)] }, "application/graphql-response+json");
        onResult(encoded.status);
        return delivery.send(response, encoded, caller);
      }
    }
    const isIncremental = form !== null && mayBeIncremental(params);
    const { pieces, ...result } = await engine.run(operation, params, {
      isReadOnly: body === null,
      isIncremental,
    });
    if (pieces && form) return deliver(response, { ...result, pieces }, form, operation, onResult);
    return send(result);
  };

  return async (response, body, state) => {
    const { operation, run, end } = openOperation(response.req, state);
    return run(() => answer(response, body, operation, end));
  };
}

/** The parameters of a request, or why they cannot be read. */
function paramsOf(
  { method, url = "" }: IncomingMessage,
  body: Buffer | null,
  publicError: Settings["publicError"],
): OperationParams | GraphQLError {
  try {
    if (body) return parseBody(body);
    if (method === "GET") return parseQueryString(url.split("?")[1] ?? "");
    const http = { status: 405, headers: { allow: "GET, POST" } };
    throw rejection("GraphQL only supports GET and POST requests.", "BAD_REQUEST", http);
  } catch (error) {
    return publicError(error);
  }
}
