import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { overloaded, rejection } from "../engine/errors.ts";
import { Collector, IN_SHORT_CHUNKS } from "../callers/collector.ts";
import type { ResponseWriter } from "./response-writer.ts";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

const NOT_JSON = rejection("Expected a body of application/json.", "BAD_REQUEST", { status: 415 });
const ENCODED_BODY = rejection("Expected a body without Content-Encoding.", "BAD_REQUEST", { status: 415 });
const READ_BEFORE = rejection(
  "Expected the body of the request, which the server has read before the gateway.",
  "INTERNAL_SERVER_ERROR",
);

/**
 * Reads the body of a request. Calls back once with it, with why it is rejected, or with null when the caller disconnects before
 * it is complete. A body is JSON (a page of another origin can send forms and text without a CORS preflight, but not JSON), and
 * not longer than `maxBytes`, nor in short chunks. `openWaiting` opens the count of its bytes, until all have come, and may reject it.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  openWaiting: (abort: () => void) => ReturnType<ResponseWriter["openWaiting"]>,
  onBody: (body: Buffer | GraphQLError | null) => void,
): void {
  const tooLarge = (got = "") =>
    rejection(`Expected a body of at most ${maxBytes} bytes${got}.`, "OPERATION_TOO_LARGE", { status: 413 });
  const { "content-type": type = "", "content-length": length = 0 } = request.headers;
  if (!JSON_TYPE.test(type)) return onBody(NOT_JSON);
  if (Number(length) > maxBytes) return onBody(tooLarge());
  if (request.readableEnded) {
    const given = readBefore(request);
    return onBody(given && given.length > maxBytes ? tooLarge() : (given ?? READ_BEFORE));
  }
  if (request.headers["content-encoding"]) return onBody(ENCODED_BODY);
  const received = new Collector(maxBytes, null);
  let isSettled = false;
  const settle = (body: Buffer | GraphQLError | null) => {
    if (isSettled) return;
    isSettled = true;
    waiting.close();
    request.off("data", add);
    onBody(body);
  };
  const waiting = openWaiting(() => settle(overloaded()));
  const add = (chunk: Buffer) => {
    if (received.total + chunk.length > maxBytes) return settle(tooLarge());
    received.add(chunk);
    waiting.count(chunk.length);
    if (received.isInShortChunks()) settle(tooLarge(`, got one ${IN_SHORT_CHUNKS}`));
  };
  request.on("data", add);
  request.once("end", () => settle(received.bytes()));
  request.once("close", () => settle(null));
  request.on("error", () => {});
  // A middleware in front may have paused it.
  request.resume();
}

/** Whether a body has been announced that is not read yet. */
export const hasBody = ({ headers, readableEnded }: IncomingMessage): boolean =>
  !readableEnded &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);

/** Maximum bytes of a body that are discarded before its connection ends. */
const MAX_DISCARDED_BYTES = 256_000;

/**
 * Closes the connection of a request behind its response, for which the rest of its body is not needed. What comes of that meanwhile is
 * discarded, because a connection that closes with unread bytes may lose the response. Too much of it ends the connection at once.
 */
export function discardBody(response: ServerResponse): void {
  response.setHeader("connection", "close");
  const { req: request } = response;
  const received = new Collector(1, null, "last");
  request.on("data", (chunk: Buffer) => {
    received.add(chunk);
    if (received.total > MAX_DISCARDED_BYTES || received.isInShortChunks()) request.socket.destroy();
  });
  request.on("error", () => {});
}

/** The body that a parser in front of the gateway has read, such as `express.json()`: it leaves the value at `body`. */
function readBefore({ body }: IncomingMessage & { readonly body?: unknown }): Buffer | null {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? null;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
