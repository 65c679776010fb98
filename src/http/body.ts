import type { IncomingMessage } from "node:http";
import { TransientMap } from "../transient.ts";

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

/**
 * Why a body was rejected. `read before`: something in front of the gateway has read it and left nothing. `broken off`: the
 * caller disconnected before the body was complete.
 */
export type BodyFault = "not JSON" | "too long" | "too many" | "read before" | "broken off";

export interface BodySettings {
  readonly maxBytes: number;
  /** Maximum bytes of incomplete bodies, over all requests. */
  readonly maxWaitingBytes: number;
}

/**
 * Reads request bodies. Rejects bodies that are not JSON (a page of another origin can send forms and text without a
 * CORS preflight, but not JSON), bodies longer than `maxBytes`, and bodies that would exceed `maxWaitingBytes`.
 */
export function createBodyReader({ maxBytes, maxWaitingBytes }: BodySettings) {
  let waitingBytes = 0;
  /** Counted by address: tokens are not verified at this point, so anyone can send many. */
  const byAddress = new TransientMap<number>();

  const change = (address: string, bytes: number): void => {
    waitingBytes += bytes;
    const own = (byAddress.get(address) ?? 0) + bytes;
    if (own === 0) byAddress.delete(address);
    else byAddress.set(address, own);
  };

  /** One address may use half of the limit, so that it cannot lock out the others. */
  const isTooMuch = (address: string): boolean =>
    waitingBytes > maxWaitingBytes || (byAddress.get(address) ?? 0) > maxWaitingBytes / 2;

  const collect = (request: IncomingMessage, onBody: (body: Buffer | BodyFault) => void): void => {
    const chunks: Buffer[] = [];
    const address = request.socket.remoteAddress ?? "";
    let size = 0;
    let isSettled = false;
    const settle = (fault: BodyFault | null) => {
      if (isSettled) return;
      isSettled = true;
      change(address, -size);
      request.off("data", add);
      onBody(fault ?? joined(chunks));
    };
    const add = (chunk: Buffer) => {
      size += chunk.length;
      change(address, chunk.length);
      chunks.push(chunk);
      if (size > maxBytes) settle("too long");
      else if (isTooMuch(address)) settle("too many");
    };
    request.on("data", add);
    request.once("end", () => settle(null));
    request.once("close", () => settle("broken off"));
    request.on("error", ignore);
    // A middleware in front may have paused it.
    request.resume();
  };

  /** Calls back once with the body, or with why it was rejected. */
  return (request: IncomingMessage, onBody: (body: Buffer | BodyFault) => void): void => {
    if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) onBody("not JSON");
    else if (Number(request.headers["content-length"] ?? 0) > maxBytes) onBody("too long");
    else if (request.readableEnded) onBody(readBefore(request, maxBytes));
    else collect(request, onBody);
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

const joined = (chunks: readonly Buffer[]): Buffer => {
  const [first, ...others] = chunks;
  return first && others.length === 0 ? first : Buffer.concat(chunks);
};
