import type { IncomingMessage } from "node:http";
import type { Caller, Callers } from "../caller.ts";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

/**
 * Why a body was rejected. `read before`: something in front of the gateway has read it and left nothing. `broken off`: the
 * caller disconnected before the body was complete.
 */
export type BodyFault = "not JSON" | "too long" | "too many" | "read before" | "broken off";

export interface BodySettings {
  readonly callers: Callers;
  readonly maxBytes: number;
  /** Maximum bytes of incomplete bodies, over all requests. */
  readonly maxWaitingBytes: number;
}

/**
 * Reads request bodies. Rejects bodies that are not JSON (a page of another origin can send forms and text without a
 * CORS preflight, but not JSON), bodies longer than `maxBytes`, and bodies that would exceed `maxWaitingBytes`.
 */
export function createBodyReader({ callers, maxBytes, maxWaitingBytes }: BodySettings) {
  let waitingBytes = 0;
  /** Those of callers that are not proven. */
  let strangersBytes = 0;
  const accounts = callers.keep(() => ({ bytes: 0 }));

  const collect = (
    request: IncomingMessage,
    { account, standing }: Caller,
    onBody: (body: Buffer | BodyFault) => void,
  ): void => {
    const chunks: Buffer[] = [];
    const length = Number(request.headers["content-length"] ?? Infinity);
    let size = 0;
    let isSettled = false;
    /** What counts as waiting. Most bodies come in one piece and wait for nothing. */
    let own: { bytes: number } | null = null;
    let counted = 0;
    const count = (bytes: number) => {
      own ??= accounts.of(account);
      own.bytes += bytes - counted;
      waitingBytes += bytes - counted;
      if (standing !== "proven") strangersBytes += bytes - counted;
      counted = bytes;
    };
    const settle = (fault: BodyFault | null) => {
      if (isSettled) return;
      isSettled = true;
      if (own) count(0);
      request.off("data", add);
      onBody(fault ?? Buffer.concat(chunks));
    };
    const add = (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) return settle("too long");
      if (size >= length) return;
      count(size);
      // One account may use half of the limit, and so may all that are not proven, so that they cannot lock out the others.
      const most = Math.max(own?.bytes ?? 0, strangersBytes);
      if (waitingBytes > maxWaitingBytes || most > maxWaitingBytes / 2) settle("too many");
    };
    request.on("data", add);
    request.once("end", () => settle(null));
    request.once("close", () => settle("broken off"));
    request.on("error", ignore);
    // A middleware in front may have paused it.
    request.resume();
  };

  /** Calls back once with the body, or with why it was rejected. */
  return (request: IncomingMessage, caller: Caller, onBody: (body: Buffer | BodyFault) => void): void => {
    if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) onBody("not JSON");
    else if (Number(request.headers["content-length"] ?? 0) > maxBytes) onBody("too long");
    else if (request.readableEnded) onBody(readBefore(request, maxBytes));
    else collect(request, caller, onBody);
  };
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

const ignore = () => {};
