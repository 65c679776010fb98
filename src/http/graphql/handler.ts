import type { ServerResponse } from "node:http";
import type { ExecutionResult } from "graphql";
import type { Operation } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import type { ProtocolSettings } from "../operation.ts";
import type { Execute } from "../router.ts";
import {
  acceptsEvents,
  headOf,
  jsonOf,
  readParams,
  resultTypeFor,
  type StreamForm,
  streamFormFor,
} from "./encoding.ts";
import { converted, messagesOf } from "./pieces.ts";
import type { Streams } from "./streams.ts";

interface Settings extends ProtocolSettings {
  readonly streams: Pick<Streams, "write">;
}

/** The media types of results, for who accepts none of them. */
const ACCEPTABLE = "application/graphql-response+json, application/json, multipart/mixed, text/event-stream";

const NOT_ACCEPTABLE = rejection(`accept: expected one of ${ACCEPTABLE}`, "BAD_REQUEST", {
  status: 406,
  headers: { accept: ACCEPTABLE },
});

const EVENTS: StreamForm = { type: "text/event-stream", isOlder: false };

/** Handles GraphQL requests: a single result is JSON, what comes in pieces or as events is a stream. */
export function createGraphqlHandler(settings: Settings): Execute {
  const { engine, publicError, heldBytes, delivery, doors, streams, openStream, openOperation } = settings;

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
    const form = streamFormFor(accept);
    const finish = (result: ExecutionResult) => engine.finish(result, requestId);
    /** Sends a single result, as a stream of it to a caller who accepts only that. */
    const reply = (result: ExecutionResult, as = type ? null : form, given?: number): Promise<void> => {
      const whole = engine.finish(result, requestId, extensions);
      const head = headOf(whole, type ?? "application/json", requestId);
      const status = given ?? head.status;
      onResult(status);
      return as
        ? streams.write(response, jsonOf(whole), { type: as.type, status, lasts: false }, scope)
        : delivery.send(response, { ...head, body: JSON.stringify(jsonOf(whole)) }, caller);
    };
    const refuse = (error: unknown) => reply({ errors: [publicError(error)] });

    if (!type && !form) return refuse(NOT_ACCEPTABLE);
    let params;
    let held;
    try {
      params = readParams(request, body);
      // Before it waits for a turn, as many others may.
      held = heldBytes.holdJson(scope, params);
    } catch (error) {
      return refuse(error);
    }
    if (acceptsEvents(accept)) {
      if ((await engine.typeOf(params, scope)) === "subscription") {
        const open = () => openStream(request, scope, held);
        const opened = await engine.subscribe({ scope, params, facts, openStream: open });
        scope.end("done");
        if (!("results" in opened)) {
          // Clients of event streams try again after these statuses; other errors are for their readers.
          const { status } = headOf(opened, "application/graphql-response+json", requestId);
          return reply(opened, EVENTS, status === 429 || status === 503 ? status : 200);
        }
        onResult(200);
        const events = converted(opened.results, (result) => jsonOf(finish(result)));
        return streams.write(response, events, { ...EVENTS, status: 200, lasts: true }, scope);
      }
      // It may hold the place of a stream.
      const refused = doors.admit("operation", scope);
      if (refused) {
        facts.codes = [refused.code];
        return refuse(refused);
      }
    }
    const limits = { isReadOnly: body === null, isIncremental: form !== null };
    const { pieces, ...result } = await engine.run(operation, params, limits);
    if (!pieces || !form) return reply(result);
    const messages = messagesOf(result, pieces, { isOlder: form.isOlder, finish, extensions });
    await streams
      .write(response, messages, { type: form.type, status: 200, lasts: false }, scope)
      .finally(() => onResult(200));
  };

  return async (response, body, state) => {
    const { operation, run, end } = openOperation(response.req, state);
    return run(() => answer(response, body, operation, end));
  };
}
