import type { IncomingMessage, ServerResponse } from "node:http";
import type { ExecutionResult } from "graphql";
import type { Engine, Operation } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import { acceptsGzip, compressEach } from "../compression.ts";
import type { Delivery } from "../delivery.ts";
import type { Doors } from "../doors.ts";
import { lazily } from "../once.ts";
import type { HttpOperation, RequestState } from "../operation.ts";
import type { Execute } from "../router.ts";
import { acceptsEventStream, encodeResult, parseBody, type ResultType, resultTypeFor } from "./encoding.ts";
import { readParams } from "./event-stream.ts";
import {
  bodyOf,
  type Encoding,
  type FirstResult,
  mayBeIncremental,
  type PieceForm,
  pieceFormFor,
} from "./pieces.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { YogaSettings } from "./yoga.ts";

/** The media types of results, for who accepts none of them. */
const ACCEPTABLE = "application/graphql-response+json, application/json, multipart/mixed, text/event-stream";

interface Settings extends YogaSettings {
  readonly engine: Engine;
  readonly delivery: Delivery;
  readonly doors: Doors;
  readonly subscriptions: Pick<Subscriptions, "streams" | "openStream">;
  readonly openOperation: (request: IncomingMessage, state: RequestState) => HttpOperation;
}

/**
 * Handles GraphQL requests. A subscription becomes an event stream. A POST with a single JSON result runs directly on the engine,
 * which is faster; everything else goes through Yoga. Both paths produce the same bytes for the same request.
 */
export function createGraphqlHandler(settings: Settings): Execute {
  const { engine, publicError, delivery, doors, openOperation } = settings;
  const { streams, openStream } = settings.subscriptions;
  // It takes a sixth of the start-up time.
  const yoga = lazily(async () => (await import("./yoga.ts")).createYogaHandler(settings));

  /** Runs the operation of a body. */
  const runBody = (body: Buffer, operation: Operation): Promise<ExecutionResult> => {
    try {
      return engine.run(operation, parseBody(body), { isReadOnly: false });
    } catch (error) {
      return Promise.resolve({ errors: [publicError(error)] });
    }
  };

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
    const { scope, facts, extensions } = operation;
    const { requestId, caller } = scope;
    const send = (result: ExecutionResult, type: ResultType): Promise<void> => {
      const encoded = encodeResult(engine.finish(result, requestId, extensions), type, requestId);
      onResult(encoded.status);
      return delivery.send(response, encoded, caller);
    };
    /** Sends a single result to a caller who accepts only pieces. */
    const sendAs = (form: PieceForm, result: ExecutionResult): Promise<void> => {
      const whole = encodeResult(engine.finish(result, requestId, extensions), "application/json", requestId);
      onResult(whole.status);
      const text = form.ends.join(form.frame(whole.body));
      const { status } = whole;
      return delivery.send(response, { status, headers: form.headers(requestId), body: text }, caller);
    };
    if (acceptsEventStream(request.headers.accept)) {
      const params = await streams.paramsOf(request, body, scope);
      if (params) {
        const open = () => openStream(request, scope);
        return streams.serve(response, { params, operation, openStream: open, onResult });
      }
      // It may hold the place of a stream.
      const refused = doors.admit("operation", scope);
      if (refused) {
        facts.codes = [refused.code];
        return send({ errors: [publicError(refused)] }, "application/graphql-response+json");
      }
    }
    const accept = resultTypeFor(request.headers.accept);
    const form = pieceFormFor(request.headers.accept);
    if (!accept && !form) {
      const error = rejection(`accept: expected one of ${ACCEPTABLE}`, "BAD_REQUEST");
      const refusal = engine.finish({ errors: [publicError(error)] }, requestId, extensions);
      const { headers, body: text } = encodeResult(refusal, "application/json", requestId);
      onResult(406);
      const told = { status: 406, headers: { ...headers, accept: ACCEPTABLE }, body: text };
      return delivery.send(response, told, caller);
    }
    const params = form && readParams(request, body);
    if (form && params && mayBeIncremental(params)) {
      const { pieces, ...result } = await engine.run(operation, params, {
        isReadOnly: body === null,
        isIncremental: true,
      });
      if (pieces) return deliver(response, { ...result, pieces }, form, operation, onResult);
      return accept ? send(result, accept) : sendAs(form, result);
    }
    if (body && accept) return send(await runBody(body, operation), accept);
    const result = await yoga(request, response, { operation, body });
    onResult(result.status);
    return delivery.pass(response, result, caller);
  };

  return async (response, body, state) => {
    const { operation, run, end } = openOperation(response.req, state);
    return run(() => answer(response, body, operation, end));
  };
}
