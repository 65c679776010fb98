import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/*
 * A client of Redis or Valkey for a few short commands. Own code instead of `@redis/client` or `ioredis`, which collect
 * whatever is sent to them and queue without a bound: here neither a reply nor what waits takes more memory than a bound.
 * Scripts reply with one text, so that no arrays are needed.
 */

interface RedisSettings {
  readonly url: URL;
  /** PEM of the authorities that may sign the certificate of Redis; undefined: those of Node. */
  readonly ca: string | undefined;
  readonly connectTimeoutMs: number;
  /** Longest reply, in bytes. A longer one ends the connection. */
  readonly maxReplyBytes: number;
  readonly onReady: () => void;
  /** Receives why there is no connection. */
  readonly onError: (error: Error) => void;
}

export type Reply = Buffer | string | number | null;

/** A word of a command. */
export type Word = string | Buffer;

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** Commands that may wait for replies. Further ones fail at once. */
const MAX_WAITING = 1_000;

/** Bytes of commands that Redis has not taken yet. Above it further ones fail at once. */
const MAX_UNSENT_BYTES = 16_000_000;

/** Delay before the next connection: doubled with each that fails, in milliseconds. */
const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;

const KEEP_ALIVE_MS = 5_000;

const LINE_END = "\r\n";

/** The codes are for the log. */
class RedisError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export function openRedis(settings: RedisSettings) {
  let socket: Socket | null = null;
  let waiting: Waiting[] = [];
  let isReady = false;
  let isClosed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let onFirst: (() => void) | null = null;
  const first = new Promise<void>((resolve) => (onFirst = resolve));

  const request = (words: readonly Word[]): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const isFull = waiting.length >= MAX_WAITING || (socket?.writableLength ?? 0) > MAX_UNSENT_BYTES;
      if (isFull) return reject(new RedisError("OVERLOADED"));
      waiting.push({ resolve, reject });
      socket?.write(encode(words));
    });

  const signIn = async (): Promise<void> => {
    const { username, password, pathname } = settings.url;
    const words = [username, password].filter((word) => word !== "").map(decodeURIComponent);
    if (password !== "") await request(["AUTH", ...words]);
    if (pathname.length > 1) await request(["SELECT", pathname.slice(1)]);
    isReady = true;
    failures = 0;
    settings.onReady();
    onFirst?.();
  };

  const open = (): void => {
    const opened = connectTo(settings);
    socket = opened;
    let fault: Error | null = null;
    let chunks: Buffer[] = [];
    let received = 0;
    /** Bytes of which there are at least as many before they are read. */
    let needed = 1;
    const fail = (error: Error) => {
      fault ??= error;
      opened.destroy();
    };
    const read = (chunk: Buffer): void => {
      chunks.push(chunk);
      received += chunk.length;
      if (received < needed) return;
      let unread = Buffer.concat(chunks);
      let next = replyIn(unread, settings.maxReplyBytes);
      while (typeof next !== "number") {
        const asker = waiting.shift();
        if (next.reply instanceof Error) asker?.reject(next.reply);
        else asker?.resolve(next.reply);
        unread = unread.subarray(next.end);
        next = replyIn(unread, settings.maxReplyBytes);
      }
      chunks = [unread];
      received = unread.length;
      needed = next;
    };
    opened.setNoDelay().setKeepAlive(true, KEEP_ALIVE_MS);
    opened.setTimeout(settings.connectTimeoutMs, () => fail(new RedisError("CONNECT_TIMEOUT")));
    opened.once(settings.url.protocol === "rediss:" ? "secureConnect" : "connect", () => {
      signIn().then(() => opened.setTimeout(0), fail);
    });
    opened.on("data", (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        fail(error instanceof Error ? error : new RedisError("PROTOCOL"));
      }
    });
    opened.on("error", fail);
    opened.on("close", () => {
      onFirst?.();
      const error = fault ?? new RedisError("CLOSED");
      const lost = waiting;
      [socket, waiting, isReady] = [null, [], false];
      for (const { reject } of lost) reject(error);
      if (isClosed) return;
      settings.onError(error);
      timer = setTimeout(open, Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures));
      failures += 1;
    });
  };
  open();

  return {
    /** Sends a command, once the first connection is open or has failed. Rejects when there is none, and with an error reply. */
    send: async (...words: readonly Word[]): Promise<Reply> => {
      await first;
      if (!isReady) throw new RedisError("CLOSED");
      return request(words);
    },
    close: (): void => {
      isClosed = true;
      clearTimeout(timer);
      socket?.destroy();
    },
  };
}

const encode = (words: readonly Word[]): Buffer =>
  Buffer.concat([
    Buffer.from(`*${words.length}${LINE_END}`),
    ...words.flatMap((word) => [
      Buffer.from(`$${Buffer.byteLength(word)}${LINE_END}`),
      Buffer.from(word),
      Buffer.from(LINE_END),
    ]),
  ]);

function connectTo({ url, ca }: RedisSettings): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || 6379);
  if (url.protocol === "redis:") return connect({ host, port });
  return connectTls({ host, port, ...(ca && { ca }), ...(isIP(host) === 0 && { servername: host }) });
}

/** Longest line, in bytes: a status, an error or a length. */
const MAX_LINE_BYTES = 1_000;

/** The first reply of what was received, and where it ends, or how many bytes it needs. Throws `RedisError`. */
function replyIn(received: Buffer, maxBytes: number): { reply: Reply | Error; end: number } | number {
  const lineEnd = received.subarray(0, MAX_LINE_BYTES).indexOf(LINE_END);
  if (lineEnd < 0) {
    if (received.length >= MAX_LINE_BYTES) throw new RedisError("REPLY_TOO_LONG");
    return received.length + 1;
  }
  const line = received.toString("utf8", 1, lineEnd);
  const start = lineEnd + LINE_END.length;
  const type = String.fromCharCode(received[0] ?? 0);
  if (type === "+") return { reply: line, end: start };
  if (type === "-") return { reply: new Error(line), end: start };
  if (type === ":") return { reply: Number(line), end: start };
  if (type !== "$" || !/^(?:-1|\d+)$/.test(line)) throw new RedisError("PROTOCOL");
  const length = Number(line);
  if (length < 0) return { reply: null, end: start };
  if (length > maxBytes) throw new RedisError("REPLY_TOO_LONG");
  const end = start + length + LINE_END.length;
  return received.length < end ? end : { reply: received.subarray(start, start + length), end };
}
