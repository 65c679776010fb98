import type { ServerResponse } from "node:http";
import { acceptsGzip, compress } from "./compression.ts";
import { isOver, onceOver } from "./connection.ts";
import type { WholeResponse } from "./graphql/response.ts";

export interface DeliverySettings {
  /** How many bytes may wait for readers, over all answers. */
  readonly maxWaitingBytes: number;
  /** How long a reader may take for 64 kB, in milliseconds. */
  readonly readTimeoutMs: number;
}

/** Writes answers to callers who may be slow to read them. */
export interface Delivery {
  /** `party` is whose answer it is: where too much waits, those of the party with most of it are let go. */
  readonly send: (response: ServerResponse, answer: WholeResponse, party: string) => Promise<void>;
  /** The same for an answer that may still be made while it is sent. */
  readonly pass: (response: ServerResponse, answer: Response, party: string) => Promise<void>;
  readonly waitingBytes: () => number;
}

/** An answer and how much of it waits for its reader. */
interface Waiting {
  readonly response: ServerResponse;
  bytes: number;
}

/** Answers are written in pieces: so it is seen whether their readers keep their pace. */
const PIECE_BYTES = 65_536;

/** Shorter answers fit into one packet: compressing them saves nothing. */
const COMPRESSED_FROM_BYTES = 1_024;

export function createDelivery({ maxWaitingBytes, readTimeoutMs }: DeliverySettings): Delivery {
  /** The answers that wait for their readers, by their parties; of a party the one that began first in front. */
  const parties = new Map<string, { readonly answers: Set<Waiting>; bytes: number }>();
  let total = 0;

  const change = (party: string, answer: Waiting, bytes: number): void => {
    const own = parties.get(party);
    if (!own?.answers.has(answer)) return;
    answer.bytes += bytes;
    own.bytes += bytes;
    total += bytes;
  };

  const remove = (party: string, answer: Waiting): void => {
    change(party, answer, -answer.bytes);
    const own = parties.get(party);
    own?.answers.delete(answer);
    if (own?.answers.size === 0) parties.delete(party);
  };

  /** Lets readers go until no more than may be waits: those who took longest, of the party with most that waits. */
  const shrink = (): void => {
    for (let isTooMuch = total > maxWaitingBytes; isTooMuch; isTooMuch = total > maxWaitingBytes) {
      let [largest] = parties;
      for (const each of parties) if (each[1].bytes > (largest?.[1].bytes ?? 0)) largest = each;
      const [oldest] = largest?.[1].answers ?? [];
      if (!largest || !oldest) return;
      remove(largest[0], oldest);
      oldest.response.req.socket.destroy();
    }
  };

  /** Counts the bytes of an answer that wait. */
  const countBytesOf = (response: ServerResponse, party: string) => {
    const answer: Waiting = { response, bytes: 0 };
    const own = parties.get(party) ?? { answers: new Set(), bytes: 0 };
    parties.set(party, own);
    own.answers.add(answer);
    onceOver(response, () => remove(party, answer));
    return (bytes: number): void => {
      change(party, answer, bytes);
      shrink();
    };
  };

  /** Writes a piece and waits until it was taken. Ends the connection of a reader who takes too long. */
  const write = async (response: ServerResponse, piece: Uint8Array): Promise<void> => {
    if (isOver(response) || response.write(piece)) return;
    await new Promise<void>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const watch = () => {
        timer = setTimeout(() => response.req.socket.destroy(), readTimeoutMs);
      };
      // Behind another answer of its connection it waits for that one, and not for its reader.
      if (response.socket) watch();
      else response.once("socket", watch);
      const taken = () => {
        clearTimeout(timer);
        response.off("socket", watch);
        response.off("drain", taken);
        forget();
        resolve();
      };
      const forget = onceOver(response, taken);
      response.once("drain", taken);
    });
  };

  /** Writes a body up to its last piece, and gives that one. */
  const writeAllButLast = async (
    response: ServerResponse,
    body: Uint8Array,
    count: (bytes: number) => void,
  ): Promise<Uint8Array> => {
    let from = 0;
    for (; body.length - from > PIECE_BYTES && !isOver(response); from += PIECE_BYTES) {
      await write(response, body.subarray(from, from + PIECE_BYTES));
      count(-PIECE_BYTES);
    }
    return body.subarray(from);
  };

  /**
   * Sends a body in one piece of known length, compressed where its reader takes that. The size of a compressed secret
   * tells something of it to who can have text of his own beside it; no page of another site can ask for that here, as
   * tokens are never sent by the browser itself.
   */
  const sendWhole = async (
    response: ServerResponse,
    { status, headers, body: text }: WholeResponse,
    party: string,
  ): Promise<void> => {
    if (isOver(response)) return;
    for (const name in headers) response.setHeader(name, headers[name] ?? "");
    if (text.length < COMPRESSED_FROM_BYTES && isTakenAtOnce(response)) {
      response.writeHead(status, { "content-length": Buffer.byteLength(text) });
      response.end(text);
      return;
    }
    const count = countBytesOf(response, party);
    const plain = Buffer.from(text);
    // While it is compressed it waits as well.
    count(plain.length);
    const isLong = plain.length >= COMPRESSED_FROM_BYTES;
    const isCompressed = isLong && acceptsGzip(response.req.headers["accept-encoding"]);
    const body = isCompressed ? await compress(plain) : plain;
    count(body.length - plain.length);
    if (isOver(response)) return;
    if (isLong) response.appendHeader("vary", "accept-encoding");
    if (isCompressed) response.setHeader("content-encoding", "gzip");
    response.setHeader("content-length", body.length);
    response.writeHead(status);
    response.end(await writeAllButLast(response, body, count));
  };

  /** Passes a body on as it comes, no faster than it is read. */
  const sendStream = async (
    response: ServerResponse,
    body: AsyncIterable<Uint8Array>,
    count: (bytes: number) => void,
  ): Promise<void> => {
    // Leaving the loop ends what makes the body.
    for await (const part of body) {
      if (isOver(response)) break;
      count(part.length);
      const last = await writeAllButLast(response, part, count);
      await write(response, last);
      count(-last.length);
    }
    response.end();
  };

  return {
    send: sendWhole,
    pass: async (response, answer, party) => {
      if (!STREAMED.test(answer.headers.get("content-type") ?? "")) {
        const headers = Object.fromEntries(answer.headers);
        return sendWhole(response, { status: answer.status, headers, body: await answer.text() }, party);
      }
      // A stream that nobody reads has not begun.
      if (isOver(response)) return;
      const count = countBytesOf(response, party);
      response.setHeaders(answer.headers);
      response.writeHead(answer.status, answer.statusText);
      if (answer.body) await sendStream(response, answer.body, count);
      else response.end();
    },
    waitingBytes: () => total,
  };
}

/** Whether a short answer waits for nobody: nothing else is on its way in its connection. */
const isTakenAtOnce = ({ socket }: ServerResponse): boolean => socket !== null && socket.writableLength === 0;

/** Results that are made while they are sent. */
const STREAMED = /^(?:text\/event-stream|multipart\/mixed)/i;
