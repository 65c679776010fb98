import type { ServerResponse } from "node:http";
import type { Engine, OperationRequest } from "../../engine/engine.ts";
import type { GraphQLError } from "graphql";
import type { Delivery } from "../delivery.ts";
import { parseBody } from "./params.ts";
import { encodeResult, type ResultType, resultTypeFor, type WholeResponse } from "./response.ts";
import type { YogaContext, YogaHandler } from "./yoga.ts";

interface Settings {
  readonly engine: Engine;
  readonly publicError: (thrown: unknown) => GraphQLError;
  readonly delivery: Delivery;
  readonly yoga: YogaHandler;
}

/**
 * Answers GraphQL requests: a POST that is to be answered in one piece here, as its JSON needs no more than a codec around
 * the engine; everything else by Yoga. The same request gives the same bytes on both paths.
 */
export function createGraphqlHandler({ engine, publicError, delivery, yoga }: Settings) {
  const answerPost = async (
    body: Buffer,
    operation: YogaContext["operation"],
    type: ResultType,
  ): Promise<WholeResponse> => {
    const { requestId } = operation.scope;
    let params: OperationRequest["params"];
    try {
      params = parseBody(body);
    } catch (fault) {
      return encodeResult(engine.finish({ errors: [publicError(fault)] }, requestId), type, requestId);
    }
    const result = await engine.run({ ...operation, params, isReadOnly: false });
    return encodeResult(engine.finish(result, requestId), type, requestId);
  };

  return async (
    response: ServerResponse,
    body: Buffer | null,
    operation: YogaContext["operation"],
    onResult: (status: number) => void,
  ): Promise<void> => {
    const { req: request } = response;
    const { party } = operation.scope;
    const type = body && resultTypeFor(request.headers.accept);
    if (body && type) {
      const answer = await answerPost(body, operation, type);
      onResult(answer.status);
      await delivery.send(response, answer, party);
      return;
    }
    const answer = await yoga(request, response, { operation, body });
    onResult(answer.status);
    await delivery.pass(response, answer, party);
  };
}
