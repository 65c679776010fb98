import type { ServerResponse } from "node:http";
import { acceptsGzip, compress } from "./compression.ts";
import { isOver, onceOver } from "./connection.ts";

export interface DeliverySettings {
  /** How many bytes may wait for readers, over all answers. */
  readonly maxWaitingBytes: number;
  /** How long a reader may take for 64 kB, in milliseconds. */
  readonly readTimeoutMs: number;
}

/** Writes answers to callers who may be slow to read them. */
export interface Delivery {
  readonly send: (response: ServerResponse, answer: Response) => Promise<void>;
  readonly waitingBytes: () => number;
}

/** Answers are written in pieces: so it is seen whether their readers keep their pace. */
const PIECE_BYTES = 65_536;

/** Shorter answers fit into one packet: compressing them saves nothing. */
const COMPRESSED_FROM_BYTES = 1_024;

export function createDelivery({ maxWaitingBytes, readTimeoutMs }: DeliverySettings): Delivery {
  /** The answers that wait for their readers, the one that began first in front. */
  const waiting = new Set<{ readonly response: ServerResponse; bytes: number }>();
  let total = 0;

  /** Counts the bytes of an answer that wait. Where they are too many in all, the readers who took longest are let go. */
  const countBytesOf = (response: ServerResponse) => {
    const answer = { response, bytes: 0 };
    waiting.add(answer);
    onceOver(response, () => {
      if (waiting.delete(answer)) total -= answer.bytes;
    });
    return (bytes: number): void => {
      if (!waiting.has(answer)) return;
      answer.bytes += bytes;
      total += bytes;
      for (const oldest of waiting) {
        if (total <= maxWaitingBytes) break;
        total -= oldest.bytes;
        waiting.delete(oldest);
        oldest.response.req.socket.destroy();
      }
    };
  };

  /** Writes a piece and waits until it was taken. Ends the connection of a reader who takes too long. */
  const write = async (response: ServerResponse, piece: Uint8Array): Promise<void> => {
    if (isOver(response) || response.write(piece)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => response.req.socket.destroy(), readTimeoutMs);
      const taken = () => {
        clearTimeout(timer);
        response.off("drain", taken);
        forget();
        resolve();
      };
      const forget = onceOver(response, taken);
      response.once("drain", taken);
    });
  };

  /**
   * Sends a body in one piece of known length, compressed where its reader takes that. The size of a compressed secret
   * tells something of it to who can have text of his own beside it; no page of another site can ask for that here, as
   * tokens are never sent by the browser itself.
   */
  const sendWhole = async (response: ServerResponse, answer: Response, plain: Buffer): Promise<void> => {
    const count = countBytesOf(response);
    // While it is compressed it waits as well.
    count(plain.length);
    const isLong = plain.length >= COMPRESSED_FROM_BYTES;
    const isCompressed = isLong && acceptsGzip(response.req.headers["accept-encoding"]);
    const body = isCompressed ? await compress(plain) : plain;
    count(body.length - plain.length);
    if (isOver(response)) return;
    response.setHeaders(answer.headers);
    if (isLong) response.appendHeader("vary", "accept-encoding");
    if (isCompressed) response.setHeader("content-encoding", "gzip");
    response.setHeader("content-length", body.length);
    response.writeHead(answer.status, answer.statusText);
    let from = 0;
    for (; body.length - from > PIECE_BYTES && !isOver(response); from += PIECE_BYTES) {
      await write(response, body.subarray(from, from + PIECE_BYTES));
      count(-PIECE_BYTES);
    }
    response.end(body.subarray(from));
  };

  /** Passes a body on as it comes, no faster than it is read. */
  const sendStream = async (response: ServerResponse, body: AsyncIterable<Uint8Array>): Promise<void> => {
    const count = countBytesOf(response);
    // Leaving the loop ends what makes the body.
    for await (const piece of body) {
      if (isOver(response)) break;
      count(piece.length);
      await write(response, piece);
      count(-piece.length);
    }
    response.end();
  };

  return {
    send: async (response, answer) => {
      const isStream = STREAMED.test(answer.headers.get("content-type") ?? "");
      const body = isStream ? null : Buffer.from(await answer.text());
      // A stream that nobody reads has not begun.
      if (isOver(response)) return;
      if (body) return sendWhole(response, answer, body);
      response.setHeaders(answer.headers);
      response.writeHead(answer.status, answer.statusText);
      if (answer.body) await sendStream(response, answer.body);
      else response.end();
    },
    waitingBytes: () => total,
  };
}

/** Results that are made while they are sent. */
const STREAMED = /^(?:text\/event-stream|multipart\/mixed)/i;
