import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { deflate, gzip } from "node:zlib";
import { onTestFinished } from "vitest";

/*
 * A service over plain sockets, because node:http chooses the framing itself and hides the end of a body. Requests are parsed only as far
 * as the tests need.
 */

/** Ways to mark the end of a body. */
export const FRAMINGS = ["content-length", "chunked", "until close"] as const;
export const ENCODINGS = ["none", "gzip", "deflate"] as const;
/** Whether the connection stays open after a response. */
export const CONNECTIONS = ["kept", "closed"] as const;

export interface Shape {
  readonly framing: (typeof FRAMINGS)[number];
  readonly encoding: (typeof ENCODINGS)[number];
  readonly connection: (typeof CONNECTIONS)[number];
}

/**
 * The kind of cut. `framing`: fewer bytes than promised; `encoding`: the compressed stream is incomplete but its framing is correct;
 * `reset`: half of the body, then a reset.
 */
export const CUTS = ["framing", "encoding", "reset"] as const;
export type Cut = (typeof CUTS)[number];

const ENCODERS: Readonly<Record<Shape["encoding"], (body: Buffer) => Promise<Buffer>>> = {
  none: async (body) => body,
  gzip: (body) => promisify(gzip)(body, { level: 1 }),
  deflate: (body) => promisify(deflate)(body, { level: 1 }),
};

/** The bytes of an answer. */
export interface Wire {
  readonly head: string;
  /** The framed body, in chunks as they are written. */
  readonly chunks: readonly Buffer[];
  readonly afterwards: "keep" | "close" | "reset" | "stall";
}

const PIECE = 65_536;

function inChunks(body: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += PIECE) chunks.push(body.subarray(at, at + PIECE));
  return chunks;
}

const asChunk = (chunk: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

export async function encode(body: Buffer, encoding: Shape["encoding"]): Promise<Buffer> {
  return ENCODERS[encoding](body);
}

/** The bytes of a response in this shape. `body` is already encoded. `stalled` sends half of it and then nothing. */
export function wireOf(shape: Shape, body: Buffer, cut: Cut | "stalled" | null = null): Wire {
  const { framing, encoding, connection } = shape;
  const half = Math.ceil(body.length / 2);
  const sent = cut === null ? body : body.subarray(0, half);
  const promised = cut === "encoding" ? half : body.length;
  const headers = [
    "HTTP/1.1 200 OK",
    "Content-Type: application/json",
    ...(encoding === "none" ? [] : [`Content-Encoding: ${encoding}`]),
    ...(framing === "content-length" ? [`Content-Length: ${promised}`] : []),
    ...(framing === "chunked" ? ["Transfer-Encoding: chunked"] : []),
    ...(connection === "closed" ? ["Connection: close"] : []),
  ];
  const isWhole = cut === null || cut === "encoding";
  const chunks = inChunks(sent);
  return {
    head: `${headers.join("\r\n")}\r\n\r\n`,
    chunks: framing === "chunked" ? [...chunks.map(asChunk), ...(isWhole ? [LAST_CHUNK] : [])] : chunks,
    afterwards:
      cut === "stalled"
        ? "stall"
        : cut === "reset"
          ? "reset"
          : cut === "framing" || connection === "closed"
            ? "close"
            : "keep",
  };
}

/** A request as it arrived, and the socket for its response. */
export interface RawExchange {
  /** The first line and the headers. */
  readonly head: string;
  readonly socket: Socket;
  /** Writes a response as fast as the client reads it. */
  readonly send: (wire: Wire) => Promise<void>;
  /** Writes bytes as they are. */
  readonly write: (text: string) => void;
}

const CONTENT_LENGTH = /^content-length: *(\d+)/im;

/** The first complete request in the received bytes, and the bytes after it. */
function takeRequest(received: Buffer) {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = received.toString("latin1", 0, end);
  const begin = end + 4;
  const length = Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
  if (received.length < begin + length) return null;
  return { head, rest: received.subarray(begin + length) };
}

/** Listens on a free port. `answer` writes the response, and decides whether the connection stays open. */
export async function startRawService(answer: (exchange: RawExchange) => unknown) {
  const sockets = new Set<Socket>();
  /** Connections with an incomplete response. */
  const busy = new Set<Socket>();
  const seen: string[] = [];
  let connections = 0;
  let bytes = 0;

  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    let received: Buffer = Buffer.alloc(0);
    socket
      .on("error", () => {})
      .on("close", () => {
        sockets.delete(socket);
        busy.delete(socket);
      });
    const send = async ({ head, chunks, afterwards }: Wire): Promise<void> => {
      for (const chunk of [Buffer.from(head), ...chunks]) {
        if (socket.destroyed) return;
        await new Promise<void>((taken) => {
          const done = () => {
            socket.off("close", done);
            taken();
          };
          socket.once("close", done);
          socket.write(chunk, done);
        });
        bytes += chunk.length;
      }
      if (afterwards === "keep") busy.delete(socket);
      if (afterwards === "close") socket.end();
      if (afterwards === "reset") socket.resetAndDestroy();
    };
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let next = takeRequest(received); next; next = takeRequest(received)) {
        received = next.rest;
        busy.add(socket);
        seen.push(next.head.split(" ", 2).join(" ").replace("/api/v1/", ""));
        void answer({ head: next.head, socket, send, write: (text) => void socket.write(text) });
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** The requests in the order of arrival, such as `GET ada/mnist/jobs/3/`. */
    seen: () => seen,
    connections: () => connections,
    open: () => sockets.size,
    /** Open connections with an incomplete response. A connection that closes after its response is busy until it is closed. */
    busy: () => busy.size,
    /** Number of bytes that the operating system has accepted. */
    bytes: () => bytes,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export type RawService = Awaited<ReturnType<typeof startRawService>>;

/** Starts a raw service that is closed when the test ends. */
export async function startRaw(answer: (exchange: RawExchange) => unknown): Promise<RawService> {
  const service = await startRawService(answer);
  onTestFinished(() => service.close());
  return service;
}

/** A JSON response with its length. */
export function jsonWire(json: unknown, shape: Partial<Shape> = {}): Wire {
  return wireOf(
    { framing: "content-length", encoding: "none", connection: "kept", ...shape },
    Buffer.from(JSON.stringify(json)),
  );
}
