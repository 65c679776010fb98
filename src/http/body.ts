import type { IncomingMessage } from "node:http";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

/**
 * Why a body was rejected. `read before`: something in front of the gateway has read it and left nothing. `broken off`: the
 * caller disconnected before the body was complete.
 */
export type BodyFault = "not JSON" | "too long" | "read before" | "broken off";

/**
 * Reads the body of a request. Calls back once with it, or with why it was rejected: a body is JSON (a page of another origin
 * can send forms and text without a CORS preflight, but not JSON), and not longer than `maxBytes`.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  onBody: (body: Buffer | BodyFault) => void,
): void {
  const { "content-type": type = "", "content-length": length = 0 } = request.headers;
  if (!JSON_TYPE.test(type)) return onBody("not JSON");
  if (Number(length) > maxBytes) return onBody("too long");
  if (request.readableEnded) return onBody(readBefore(request, maxBytes));
  const chunks: Buffer[] = [];
  let size = 0;
  let isSettled = false;
  const settle = (fault: BodyFault | null) => {
    if (isSettled) return;
    isSettled = true;
    request.off("data", add);
    onBody(fault ?? Buffer.concat(chunks));
  };
  const add = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size > maxBytes) settle("too long");
  };
  request.on("data", add);
  request.once("end", () => settle(null));
  request.once("close", () => settle("broken off"));
  request.on("error", () => {});
  // A middleware in front may have paused it.
  request.resume();
}

/** The body that a parser in front of the gateway has read, such as `express.json()`: it leaves the value at `body`. */
function readBefore(
  { body }: IncomingMessage & { readonly body?: unknown },
  maxBytes: number,
): Buffer | BodyFault {
  if (body === undefined) return "read before";
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return bytes.length > maxBytes ? "too long" : bytes;
}
