import type { ServerResponse } from "node:http";
import { isOver, onceOver } from "./connection.ts";

export interface DeliverySettings {
  /** How many bytes may wait for readers, over all answers. */
  readonly maxWaitingBytes: number;
}

/** Writes answers to callers who may be slow to read them. */
export interface Delivery {
  readonly send: (response: ServerResponse, answer: Response) => Promise<void>;
  readonly waitingBytes: () => number;
}

/** The pace that a reader has to keep: a piece of this size within this time, in milliseconds. */
const PIECE_BYTES = 65_536;
const PIECE_MS = 10_000;

export function createDelivery({ maxWaitingBytes }: DeliverySettings): Delivery {
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

  const sendWhole = async (response: ServerResponse, body: Buffer): Promise<void> => {
    const count = countBytesOf(response);
    count(body.length);
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
      response.setHeaders(answer.headers);
      if (body) response.setHeader("content-length", body.length);
      response.writeHead(answer.status, answer.statusText);
      if (body) await sendWhole(response, body);
      else if (answer.body) await sendStream(response, answer.body);
      else response.end();
    },
    waitingBytes: () => total,
  };
}

/** Results that are made while they are sent. */
const STREAMED = /^(?:text\/event-stream|multipart\/mixed)/i;

/** Writes a piece and waits until it was taken. Ends the connection of a reader who takes too long. */
const write = async (response: ServerResponse, piece: Uint8Array): Promise<void> => {
  if (isOver(response) || response.write(piece)) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.req.socket.destroy(), PIECE_MS);
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
