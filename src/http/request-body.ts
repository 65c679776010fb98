import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { overloaded, rejection } from "../engine/errors.ts";
import { BoundedBuffer, IN_SHORT_CHUNKS } from "../callers/bounded-buffer.ts";
import type { ResponseWriter } from "./response-writer.ts";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

const NOT_JSON = rejection("Expected a body of type application/json.", "BAD_REQUEST", { status: 415 });
const ENCODED_BODY = rejection("Expected a body without Content-Encoding.", "BAD_REQUEST", { status: 415 });
const READ_BEFORE = rejection(
  "Expected an unread body, got one that the server had already read.",
  "INTERNAL_SERVER_ERROR",
);

/**
 * Reads the body of a request. Calls back once: with the body, with the error for which it is rejected, or with null when the caller
 * disconnects before the body is complete. The body must be JSON, because a page of another origin can send forms and plain text without a
 * CORS preflight, but not JSON. It must have at most `maxBytes` bytes, and must not arrive in many short chunks. `openAccount` opens an
 * account that counts the bytes of the body until it is complete. Its `abort` rejects the body.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  openAccount: (abort: () => void) => ReturnType<ResponseWriter["openAccount"]>,
  onBody: (body: Buffer | GraphQLError | null) => void,
): void {
  const tooLarge = (problem = `Expected a body of at most ${maxBytes} bytes.`) =>
    rejection(problem, "OPERATION_TOO_LARGE", { status: 413 });
  const { "content-type": type = "", "content-length": length = 0 } = request.headers;
  if (!JSON_TYPE.test(type)) return onBody(NOT_JSON);
  if (Number(length) > maxBytes) return onBody(tooLarge());
  if (request.readableEnded) {
    const given = readBefore(request);
    return onBody(given && given.length > maxBytes ? tooLarge() : (given ?? READ_BEFORE));
  }
  if (request.headers["content-encoding"]) return onBody(ENCODED_BODY);
  const received = new BoundedBuffer(maxBytes, null);
  let isSettled = false;
  const settle = (body: Buffer | GraphQLError | null) => {
    if (isSettled) return;
    isSettled = true;
    waiting.close();
    request.off("data", add);
    onBody(body);
  };
  const waiting = openAccount(() => settle(overloaded()));
  const add = (chunk: Buffer) => {
    if (received.total + chunk.length > maxBytes) return settle(tooLarge());
    received.add(chunk);
    waiting.count(chunk.length);
    if (received.isInShortChunks())
      settle(tooLarge(`Expected a body in larger chunks, got one ${IN_SHORT_CHUNKS}.`));
  };
  request.on("data", add);
  request.once("end", () => settle(received.bytes()));
  request.once("close", () => settle(null));
  request.on("error", () => {});
  // Middleware of an embedding server may have paused the request.
  request.resume();
}

/** Whether a request has a body that was not read yet. */
export const hasBody = ({ headers, readableEnded }: IncomingMessage): boolean =>
  !readableEnded &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);

/** Maximum bytes of a body that are discarded before its connection is closed. */
const MAX_DISCARDED_BYTES = 256_000;

/**
 * Closes the connection after a response that does not need the rest of the request's body. The rest of the body is read and discarded,
 * because closing a connection with unread bytes may lose the response. If the rest is too long, the connection is closed immediately.
 */
export function discardBody(response: ServerResponse): void {
  response.setHeader("connection", "close");
  const { req: request } = response;
  const received = new BoundedBuffer(1, null, "last");
  request.on("data", (chunk: Buffer) => {
    received.add(chunk);
    if (received.total > MAX_DISCARDED_BYTES || received.isInShortChunks()) request.socket.destroy();
  });
  request.on("error", () => {});
}

/** The body, if a parser of an embedding server has already read it. `express.json()`, for example, stores the value as `body`. */
function readBefore({ body }: IncomingMessage & { readonly body?: unknown }): Buffer | null {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? null;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
