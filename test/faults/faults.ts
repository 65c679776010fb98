import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { bodyOf, headersOf, tell, type FakeResponse } from "../support/fake.ts";
import type { Fault } from "../support/fault-server.ts";

/** Takes the request and never answers. */
export const hang: Fault = () => {};

/** Sends the given response instead. */
export const say =
  (reported: FakeResponse): Fault =>
  ({ response }) =>
    tell(response, reported);

/** Answers rightly, with the body made over. */
export const garble =
  (over: (body: Buffer) => Buffer | string, headers: Record<string, string> = {}): Fault =>
  ({ response, right }) =>
    tell(response, { text: over(bodyOf(right)), headers: { ...headersOf(right), ...headers } });

/** Answers rightly, with the JSON made over. */
export const mangle = (over: (json: unknown) => unknown): Fault =>
  garble((body) => {
    const json: unknown = JSON.parse(body.toString());
    return JSON.stringify(over(json));
  });

/** Breaks the connection before a byte of the answer. */
export const reset: Fault = ({ response }) => response.req.socket.resetAndDestroy();

/** Breaks the connection in the middle of the body. */
export const resetMidBody: Fault = ({ response, right }) => {
  const body = bodyOf(right);
  response.writeHead(200, { ...headersOf(right), "content-length": body.length });
  response.write(body.subarray(0, body.length / 2), () => response.req.socket.resetAndDestroy());
};

/** Promises more bytes than there are, and then hangs up or keeps silent. */
export const promiseTooMuch =
  (then: "hangs up" | "is silent"): Fault =>
  ({ response, right }) => {
    const body = bodyOf(right);
    response.writeHead(200, { ...headersOf(right), "content-length": body.length + 100 });
    response.write(body, () => then === "hangs up" && response.req.socket.end());
  };

/** The right answer, a byte at a time. */
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
    // The reader may break off: that is no error here.
    pipeline(Readable.from(chunks()), response, () => {});
  };

/** A few bytes that inflate to as many megabytes of blanks. */
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

/** Sends on to another address. */
export const redirect =
  (status: number, location: (request: IncomingMessage) => string): Fault =>
  ({ response }) =>
    tell(response, { status, text: "", headers: { location: location(response.req) } });
