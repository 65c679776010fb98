import type { ServerResponse } from "node:http";
import type { Engine } from "../../engine/engine.ts";
import type { WrittenResult } from "../../engine/execution.ts";
import type { GraphQLError } from "graphql";
import type { OpenStream } from "../../engine/subscription.ts";
import type { Delivery } from "../delivery.ts";
import type { EventStreams } from "./event-stream.ts";
import { parseBody } from "./params.ts";
import { encodeResult, type ResultType, resultTypeFor, type WholeResponse } from "./response.ts";
import type { YogaContext, YogaHandler } from "./yoga.ts";

interface Settings {
  readonly engine: Engine;
  readonly publicError: (error: unknown) => GraphQLError;
  readonly delivery: Delivery;
  readonly yoga: YogaHandler;
  readonly streams: EventStreams;
}

/**
 * Handles GraphQL requests. A subscription becomes an event stream. A POST with a single JSON result runs directly on the
 * engine, which is faster; everything else goes through Yoga. Both paths produce the same bytes for the same request.
 */
export function createGraphqlHandler({ engine, publicError, delivery, yoga, streams }: Settings) {
  /** Runs the operation of a POST and encodes its result. */
  const executePost = async (
    body: Buffer,
    operation: YogaContext["operation"],
    type: ResultType,
  ): Promise<WholeResponse> => {
    const { requestId } = operation.scope;
    let result: WrittenResult;
    try {
      result = await engine.run({ ...operation, params: parseBody(body), isReadOnly: false });
    } catch (error) {
      result = { errors: [publicError(error)] };
    }
    return encodeResult(engine.finish(result, requestId, operation.explain), type, requestId);
  };

  return async (
    response: ServerResponse,
    body: Buffer | null,
    operation: YogaContext["operation"],
    openStream: () => OpenStream,
    onResult: (status: number) => void,
  ): Promise<void> => {
    const { req: request } = response;
    const reading = streams.paramsOf(response, body);
    const subscription = reading && (await reading);
    if (subscription)
      return streams.serve(response, { params: subscription, operation, openStream, onResult });
    const { callerKey } = operation.scope;
    const type = body && resultTypeFor(request.headers.accept);
    if (body && type) {
      const result = await executePost(body, operation, type);
      onResult(result.status);
      await delivery.send(response, result, callerKey);
      return;
    }
    const result = await yoga(request, response, { operation, body });
    onResult(result.status);
    await delivery.pass(response, result, callerKey);
  };
}
