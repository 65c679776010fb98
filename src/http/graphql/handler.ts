import type { ServerResponse } from "node:http";
import type { Engine, Operation } from "../../engine/engine.ts";
import type { WrittenResult } from "../../engine/execution.ts";
import type { GraphQLError } from "graphql";
import type { OpenStream } from "../../engine/subscription.ts";
import type { Delivery } from "../delivery.ts";
import type { Doors } from "../doors.ts";
import type { EventStreams } from "./event-stream.ts";
import { parseBody } from "./params.ts";
import { encodeResult, type ResultType, resultTypeFor } from "./response.ts";
import type { YogaHandler } from "./yoga.ts";

interface Settings {
  readonly engine: Engine;
  readonly publicError: (error: unknown) => GraphQLError;
  readonly delivery: Delivery;
  readonly yoga: YogaHandler;
  readonly streams: EventStreams;
  readonly doors: Pick<Doors, "admit">;
}

/**
 * Handles GraphQL requests. A subscription becomes an event stream. A POST with a single JSON result runs directly on the
 * engine, which is faster; everything else goes through Yoga. Both paths produce the same bytes for the same request.
 */
export function createGraphqlHandler({ engine, publicError, delivery, doors, yoga, streams }: Settings) {
  /** Runs the operation of a POST. */
  const runPost = (body: Buffer, operation: Operation): Promise<WrittenResult> => {
    try {
      return engine.run(operation, parseBody(body), POST);
    } catch (error) {
      return Promise.resolve({ errors: [publicError(error)] });
    }
  };

  return async (
    response: ServerResponse,
    body: Buffer | null,
    operation: Operation,
    openStream: () => OpenStream,
    onResult: (status: number) => void,
  ): Promise<void> => {
    const { req: request } = response;
    const { scope, facts, explain } = operation;
    const { requestId, caller } = scope;
    const send = (result: WrittenResult, type: ResultType): Promise<void> => {
      const encoded = encodeResult(engine.finish(result, requestId, explain), type, requestId);
      onResult(encoded.status);
      return delivery.send(response, encoded, caller);
    };
    const reading = streams.paramsOf(response, body, scope);
    const subscription = reading && (await reading);
    if (subscription)
      return streams.serve(response, { params: subscription, operation, openStream, onResult });
    const rejection = doors.admit("operation", scope);
    if (rejection) {
      facts.codes = [rejection.code];
      return send({ errors: [publicError(rejection)] }, "application/graphql-response+json");
    }
    const type = body && resultTypeFor(request.headers.accept);
    if (body && type) return send(await runPost(body, operation), type);
    const result = await yoga(request, response, { operation, body });
    onResult(result.status);
    return delivery.pass(response, result, caller);
  };
}

const POST = { isReadOnly: false };
