import type { IncomingMessage, ServerResponse } from "node:http";
import type { Engine, Operation } from "../../engine/engine.ts";
import type { WrittenResult } from "../../engine/execution.ts";
import type { Delivery } from "../delivery.ts";
import type { Doors } from "../doors.ts";
import type { HttpOperation, RequestState } from "../operation.ts";
import type { Execute } from "../router.ts";
import { acceptsEventStream, encodeResult, parseBody, type ResultType, resultTypeFor } from "./encoding.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { YogaHandler, YogaSettings } from "./yoga.ts";

interface Settings extends YogaSettings {
  readonly engine: Engine;
  readonly delivery: Delivery;
  readonly doors: Doors;
  readonly subscriptions: Pick<Subscriptions, "streams" | "openStream">;
  readonly openOperation: (request: IncomingMessage, state: RequestState) => HttpOperation;
}

/**
 * Handles GraphQL requests. A subscription becomes an event stream. A POST or QUERY with a single JSON result runs directly on the
 * engine, which is faster; everything else goes through Yoga. Both paths produce the same bytes for the same request.
 */
export function createGraphqlHandler(settings: Settings): Execute {
  const { engine, publicError, delivery, doors, openOperation } = settings;
  const { streams, openStream } = settings.subscriptions;
  const yoga = loadYoga(settings);

  /** Runs the operation of a body. */
  const runBody = (body: Buffer, operation: Operation, isReadOnly: boolean): Promise<WrittenResult> => {
    try {
      return engine.run(operation, parseBody(body), { isReadOnly });
    } catch (error) {
      return Promise.resolve({ errors: [publicError(error)] });
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
    const send = (result: WrittenResult, type: ResultType): Promise<void> => {
      const encoded = encodeResult(engine.finish(result, requestId, extensions), type, requestId);
      onResult(encoded.status);
      return delivery.send(response, encoded, caller);
    };
    if (acceptsEventStream(request.headers.accept)) {
      const params = await streams.paramsOf(request, body, scope);
      if (params) {
        const open = () => openStream(request, scope);
        return streams.serve(response, { params, operation, openStream: open, onResult });
      }
      // It may hold the place of a stream.
      const rejection = doors.admit("operation", scope);
      if (rejection) {
        facts.codes = [rejection.code];
        return send({ errors: [publicError(rejection)] }, "application/graphql-response+json");
      }
    }
    const type = body && resultTypeFor(request.headers.accept);
    const isReadOnly = request.method !== "POST";
    if (body && type) return send(await runBody(body, operation, isReadOnly), type);
    const result = await yoga(request, response, { operation, body, isReadOnly });
    onResult(result.status);
    return delivery.pass(response, result, caller);
  };

  return async (response, body, state) => {
    const { operation, run, end } = openOperation(response.req, state);
    return run(() => answer(response, body, operation, end));
  };
}

/** Loads Yoga on the first request that needs it: it takes a sixth of the start-up time. */
function loadYoga(settings: YogaSettings): YogaHandler {
  let loading: Promise<YogaHandler> | null = null;
  return async (...given) => {
    loading ??= import("./yoga.ts").then(({ createYogaHandler }) => createYogaHandler(settings));
    return (await loading)(...given);
  };
}
