import { rejection } from "../../engine/errors.ts";
import { openOperation, type Parts } from "../operation.ts";
import type { Execute } from "../router.ts";
import { acceptsEvents, headOf, jsonOf, readParams, resultTypeFor, streamFormFor } from "./encoding.ts";
import { operate } from "./operate.ts";
import type { Streams } from "./streams.ts";

/** The media types of results, for who accepts none of them. */
const ACCEPTABLE = "application/graphql-response+json, application/json, multipart/mixed, text/event-stream";

const NOT_ACCEPTABLE = rejection(`accept: expected one of ${ACCEPTABLE}`, "BAD_REQUEST", {
  status: 406,
  headers: { accept: ACCEPTABLE },
});

/** Handles GraphQL requests: a single result is JSON, what comes in pieces or as events is a stream. */
export function createGraphqlHandler(parts: Parts, streams: Streams): Execute {
  return async (response, body, state) => {
    const { scope } = state;
    const { req: request } = response;
    const { accept } = request.headers;
    const type = resultTypeFor(accept);
    const form = streamFormFor(accept);
    const opened = openOperation(parts, request, state);
    const read = () => {
      if (type || form) return readParams(request, body);
      throw NOT_ACCEPTABLE;
    };
    const manner = {
      isReadOnly: body === null,
      takesEvents: acceptsEvents(accept),
      pieces: form,
      status: 200,
    };
    return opened.run(async () => {
      const { isStream, ...outcome } = await operate(parts, request, opened, read, manner);
      const streamed = isStream ? "text/event-stream" : (form?.type ?? "multipart/mixed");
      if (outcome.messages)
        return streams.write(
          response,
          outcome.messages,
          { type: streamed, status: 200, lasts: isStream },
          scope,
        );
      const { result } = outcome;
      const head = headOf(result, isStream ? NEWER : (type ?? "application/json"), scope.requestId);
      // Clients of event streams try again after these statuses; other errors are for their readers.
      const status = !isStream || head.status === 429 || head.status === 503 ? head.status : 200;
      opened.end(status);
      const json = jsonOf(result);
      // To a caller who accepts only that, a stream of it.
      return isStream || !type
        ? streams.write(response, json, { type: streamed, status, lasts: false }, scope)
        : parts.delivery.send(response, { ...head, body: JSON.stringify(json) }, scope.caller);
    });
  };
}

const NEWER = "application/graphql-response+json";
