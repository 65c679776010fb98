import { openRedis, type Reply, type Word } from "./client.ts";

export interface ConnectionSettings {
  readonly url: URL;
  /** PEM of the authorities that may sign the certificate of Redis; undefined: those of Node. */
  readonly ca: string | undefined;
  /** Prefix of every key. */
  readonly prefix: string;
  /** Longest time of a command, in milliseconds. */
  readonly timeoutMs: number;
  /** Longest reply, in bytes. */
  readonly maxReplyBytes: number;
  /** Receives why Redis cannot be used: a code such as `ECONNREFUSED`, without the address. */
  readonly onFailure: (cause: string) => void;
  readonly onConnected: () => void;
}

/** How long Redis is not asked after a command that took too long, in milliseconds. */
const PAUSE_MS = 5_000;

const MIN_CONNECT_MS = 2_000;

/** A connection that nobody waits for: while Redis is away or slow, commands fail at once. */
export type Connection = ReturnType<typeof openConnection>;

export function openConnection(settings: ConnectionSettings) {
  const { timeoutMs, onFailure, onConnected } = settings;
  /** Until when Redis is not asked, by `performance.now()`. */
  let pausedUntil = 0;
  const onReady: (() => void)[] = [];

  const pause = (ms: number, error: unknown): void => {
    pausedUntil = performance.now() + ms;
    onFailure(codeOf(error));
  };
  const redis = openRedis({
    url: settings.url,
    ca: settings.ca,
    connectTimeoutMs: Math.max(MIN_CONNECT_MS, timeoutMs),
    maxReplyBytes: settings.maxReplyBytes,
    onError: (error) => pause(Number.POSITIVE_INFINITY, error),
    onReady: () => {
      pausedUntil = 0;
      onConnected();
      for (const callback of onReady) callback();
    },
  });
  const isPaused = () => performance.now() < pausedUntil;

  return {
    isPaused,
    keyOf: (name: string) => `${settings.prefix}${name}`,
    /** The reply to a command; null also when there is none in time, or it is an error. `onFailed` is called then. */
    ask: async (words: readonly Word[], onFailed: () => void): Promise<Reply> => {
      if (isPaused()) {
        onFailed();
        return null;
      }
      try {
        return await inTime(timeoutMs, redis.send(...words));
      } catch (error) {
        onFailed();
        if (error instanceof TookTooLong) pause(PAUSE_MS, error);
        else onFailure(codeOf(error));
        return null;
      }
    },
    /** Sends a command without waiting for its reply, unless Redis is away, or slow and not `always`. */
    tell: (words: readonly Word[], always = false): void => {
      if (isPaused() && !(always && pausedUntil < Number.POSITIVE_INFINITY)) return;
      redis.send(...words).catch((error: unknown) => onFailure(codeOf(error)));
    },
    /** Calls back whenever there is a connection. */
    onReady: (callback: () => void): void => void onReady.push(callback),
    /** Reports a reply that cannot be used. */
    reject: (cause: string): void => onFailure(cause),
    close: (): void => {
      pausedUntil = Number.POSITIVE_INFINITY;
      redis.close();
    },
  };
}

class TookTooLong extends Error {
  readonly code = "TIMEOUT";
}

/** Rejects with `TookTooLong` when a promise takes longer. */
function inTime<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TookTooLong()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The code of an error or of an error reply, such as `WRONGPASS`, otherwise its class. Messages may name the address. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error
    ? `${error.code}`
    : (/^[A-Z]+(?= )/.exec(error.message)?.[0] ?? error.constructor.name);
}
