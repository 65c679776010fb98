import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { bodyOf, headersOf, writeResponse, type FakeResponse } from "../support/fake.ts";
import type { Fault } from "../support/fault-server.ts";

/** Accepts the request and never responds. */
export const hang: Fault = () => {};

/** Sends the given response instead. */
export const respondWith =
  (reported: FakeResponse): Fault =>
  ({ response }) =>
    writeResponse(response, reported);

/** Sends the correct response with a changed body. */
export const garble =
  (over: (body: Buffer) => Buffer | string, headers: Record<string, string> = {}): Fault =>
  ({ response, right }) =>
    writeResponse(response, { text: over(bodyOf(right)), headers: { ...headersOf(right), ...headers } });

/** Sends the correct response with changed JSON. */
export const mangle = (over: (json: unknown) => unknown): Fault =>
  garble((body) => {
    const json: unknown = JSON.parse(body.toString());
    return JSON.stringify(over(json));
  });

/** Closes the connection before the first byte of the response. */
export const reset: Fault = ({ response }) => response.req.socket.resetAndDestroy();

/** Closes the connection in the middle of the body. */
export const resetMidBody: Fault = ({ response, right }) => {
  const body = bodyOf(right);
  response.writeHead(200, { ...headersOf(right), "content-length": body.length });
  response.write(body.subarray(0, body.length / 2), () => response.req.socket.resetAndDestroy());
};

/** Sends fewer bytes than it has announced, and then closes the connection or stays silent. */
export const promiseTooMuch =
  (then: "hangs up" | "is silent"): Fault =>
  ({ response, right }) => {
    const body = bodyOf(right);
    response.writeHead(200, { ...headersOf(right), "content-length": body.length + 100 });
    response.write(body, () => then === "hangs up" && response.req.socket.end());
  };

/** Sends the correct response one byte at a time. */
export const trickle =
  (pauseMs: number): Fault =>
  ({ response, right }) => {
    const body = bodyOf(right);
    response.writeHead(200, { ...headersOf(right), "content-length": body.length });
    let at = 0;
    const timer = setInterval(() => {
      response.write(body.subarray(at, ++at));
      if (at < body.length) return;
      clearInterval(timer);
      response.end();
    }, pauseMs);
    response.on("close", () => clearInterval(timer));
  };

/** Sends the same chunk as fast as it is read: `times` times, or endlessly. */
export const flood =
  ({ chunk, times = Number.POSITIVE_INFINITY }: { chunk: string | Buffer; times?: number }): Fault =>
  ({ response, right }) => {
    response.writeHead(200, headersOf(right));
    function* chunks() {
      for (let sent = 0; sent < times; sent++) yield chunk;
    }
    // The client may close the connection, which is not an error here.
    pipeline(Readable.from(chunks()), response, () => {});
  };

/** A few bytes that decompress to megabytes of blanks. */
export async function bombOf(megabytes: number): Promise<Buffer> {
  const zip = createGzip({ level: 1 });
  const parts: Buffer[] = [];
  zip.on("data", (part: Buffer) => parts.push(part));
  const blanks = Buffer.alloc(1_000_000, " ");
  for (let written = 0; written < megabytes; written++) {
    if (!zip.write(blanks)) await once(zip, "drain");
  }
  zip.end();
  await once(zip, "end");
  return Buffer.concat(parts);
}

/** Redirects to another address. */
export const redirect =
  (status: number, location: (request: IncomingMessage) => string): Fault =>
  ({ response }) =>
    writeResponse(response, { status, text: "", headers: { location: location(response.req) } });
