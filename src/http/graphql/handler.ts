import type { IncomingMessage } from "node:http";
import type { ExecutionResult } from "graphql";
import { finalizeResult } from "../../engine/engine.ts";
import { recordErrors, rejection } from "../../engine/errors.ts";
import type { MemoryReservation } from "../../callers/memory-budget.ts";
import { type OpenedOperation, openOperation, openStream } from "../operation.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import type { Execute } from "../router.ts";
import { headOf, jsonOf } from "./encoding.ts";
import { eventFormFor, GRAPHQL_RESPONSE_JSON, resultTypeFor, streamFormFor } from "./content-negotiation.ts";
import { checkParams, type ChargeHeap, parseParams } from "./request-params.ts";
import { incrementalMessages } from "./incremental-format.ts";
import { mapAsyncIterator, singleValue } from "../../util/async-iterators.ts";
import { createStreams } from "./streams.ts";

interface TransportCapabilities {
  readonly isReadOnly: boolean;
  /** Whether the transport can carry the events of subscriptions. */
  readonly takesEvents: boolean;
  /** The format of incremental results; null if the transport takes only whole results. */
  readonly payloads: { readonly isOlder: boolean } | null;
  /** HTTP status of messages; null for an operation over a WebSocket. */
  readonly status: number | null;
}

/** The outcome of an operation: messages, or a single result. `isStream` is set for subscriptions, even if they could not be opened. */
type Outcome = { readonly isStream: boolean } & (
  | { readonly messages: AsyncIterableIterator<object>; readonly result?: undefined }
  | { readonly result: ExecutionResult; readonly messages?: undefined }
);

/**
 * Executes the operation of a request by HTTP or WebSocket. Never rejects. An operation with messages is reported here, and `onEnd` is
 * called after its last message. An operation with a single result is reported by the transport.
 */
export async function executeRequest(
  dependencies: GatewayDependencies,
  request: IncomingMessage,
  operation: OpenedOperation,
  read: (chargeMemory: ChargeHeap) => object,
  { isReadOnly, takesEvents, payloads: form, status }: TransportCapabilities,
  onEnd = () => {},
): Promise<Outcome> {
  const { engine, memoryBudget, telemetry } = dependencies;
  const { scope, details, extensions, end } = operation;
  const finalize = (result: ExecutionResult) => finalizeResult(result, scope.requestId);
  const singleResult = (result: ExecutionResult, isStream: boolean) => ({
    result: finalizeResult(result, scope.requestId, extensions),
    isStream,
  });
  try {
    // The memory of the parameters is charged before the operation waits for a time slice, because many operations may wait. The full size
    // is charged, because the coerced variables use as much memory again.
    let reservation: MemoryReservation | null = null;
    const given = read((heapBytes) => void (reservation = memoryBudget.charge(scope, heapBytes)));
    const params = checkParams(given, (names) => telemetry.unknownParameters(scope.requestId, names));
    const parsed = takesEvents ? await engine.parse(params, scope) : null;
    if (parsed?.type === "subscription") {
      const open = () => openStream(dependencies, request, scope, reservation);
      const opened = await engine.subscribe({ scope, params, details, openStream: open }, parsed);
      if (!("results" in opened)) return singleResult(opened, true);
      end(status);
      const messages = mapAsyncIterator(opened.results, (result) => jsonOf(finalize(result)), onEnd);
      return { messages, isStream: true };
    }
    // The request may hold the permit of a stream, or no permit (WebSocket).
    dependencies.admission.operation.acquire(scope);
    const limits = { isReadOnly, isIncremental: form !== null, parsed };
    const { payloads, ...result } = await engine.run(operation, params, limits);
    if (!payloads || !form) return singleResult(result, false);
    const over = () => (end(status), onEnd());
    const encoding = { isOlder: form.isOlder, finalize, extensions };
    return { messages: incrementalMessages(result, payloads, encoding, over), isStream: false };
  } catch (error) {
    const errors = [dependencies.publicError(error)];
    recordErrors(details, errors);
    return singleResult({ errors }, false);
  }
}

/** The media types of results, which the error for any other `accept` header lists. */
const ACCEPTABLE = "application/graphql-response+json, application/json, multipart/mixed, text/event-stream";

const NOT_ACCEPTABLE = rejection(`accept: expected one of ${ACCEPTABLE}`, "BAD_REQUEST", {
  status: 406,
  headers: { accept: ACCEPTABLE },
});

/** Handles GraphQL requests: a single result is JSON; incremental results and events are a stream. */
export function createGraphqlHandler(dependencies: GatewayDependencies) {
  const streams = createStreams(dependencies);
  const execute: Execute = async (response, body, scope) => {
    const { req: request } = response;
    const { accept } = request.headers;
    const type = resultTypeFor(accept);
    const form = streamFormFor(accept);
    const operation = openOperation(dependencies, request, scope);
    const read = (chargeMemory: ChargeHeap) => {
      if (type || form || events) return parseParams(request, body, chargeMemory);
      throw NOT_ACCEPTABLE;
    };
    const events = eventFormFor(accept);
    const capabilities = { isReadOnly: !body, takesEvents: events !== null, payloads: form, status: 200 };
    return operation.run(async () => {
      const outcome = await executeRequest(dependencies, request, operation, read, capabilities);
      const { isStream } = outcome;
      const streamed = isStream ? (events ?? "text/event-stream") : (form?.type ?? "multipart/mixed");
      if (outcome.messages) {
        const several = { type: streamed, status: 200, lasts: isStream };
        return streams.write(response, outcome.messages, several, scope);
      }
      const { result } = outcome;
      const isEvent = isStream && events === "text/event-stream";
      const resultType = isEvent ? GRAPHQL_RESPONSE_JSON : (type ?? "application/json");
      const head = headOf(result, resultType, scope.requestId);
      // Clients of event streams retry after 429 and 503. Any other error is sent as an event, with status 200.
      const status = !isEvent || head.status === 429 || head.status === 503 ? head.status : 200;
      const json = jsonOf(result);
      if (isEvent || (!type && form)) {
        // The result is sent as a stream of one message, because the caller accepts no JSON.
        const single = { type: streamed, status, lasts: false, onEncoded: () => operation.end(status) };
        return streams.write(response, singleValue(json), single, scope);
      }
      const sent = { body: JSON.stringify(json), ...head };
      // The memory of the result stays charged, and the permit is held, until the result is encoded.
      return dependencies.responseWriter.send(response, sent, scope.caller, () => operation.end(status));
    });
  };
  return { execute, drain: streams.drain };
}
