import { writeSync } from "node:fs";
import pino from "pino";

type Write = (fields: object, message: string) => void;

/** Takes log lines: a logger of pino, such as `app.log` of Fastify, or anything with these functions. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** Buffered log lines are written when they have this many characters, and at least this often in milliseconds. */
const LOG_BUFFER_LENGTH = 4_096;
const LOG_FLUSH_MS = 200;

/** Maximum length of log lines that are kept while they cannot be written. Further lines are dropped. */
const MAX_LOG_BACKLOG = 1_048_576;

/**
 * Creates the log on standard output: JSON, or on a terminal lines for people. `close` writes what is buffered; later lines
 * are dropped.
 */
export function createLog(level: string): { readonly log: Log; readonly close: () => void } {
  const { write, flush, end } = process.stdout.isTTY ? ON_TERMINAL : buffered();
  process.on("exit", flush);
  // No pid and host name: log collectors add their own.
  const log = pino({ level, base: null }, { write });
  const close = (): void => {
    log.level = "silent";
    process.off("exit", flush);
    end();
  };
  return { log, close };
}

const ON_TERMINAL = {
  write: (line: string) => void process.stdout.write(readableOf(line)),
  flush: () => {},
  end: () => {},
};

/**
 * Buffered, because unbuffered writes take a tenth of a short operation. Who reads the log may stop: then a write fails at
 * once, as Node does not let a pipe block, and is tried again with the next flush. Nothing waits for it, not even the end.
 */
function buffered() {
  let lines = "";
  /** What an earlier write has left. */
  let rest: Buffer = Buffer.alloc(0);
  const flush = (): void => {
    const all = Buffer.concat([rest, Buffer.from(lines)]);
    lines = "";
    rest = all.subarray(writeNow(all));
  };
  const timer = setInterval(flush, LOG_FLUSH_MS).unref();
  const write = (line: string): void => {
    if (rest.length + lines.length > MAX_LOG_BACKLOG) return;
    lines += line;
    if (lines.length >= LOG_BUFFER_LENGTH) flush();
  };
  const end = (): void => {
    flush();
    clearInterval(timer);
  };
  return { write, flush, end };
}

/** Writes as much as can be written now. Returns how much that was: nothing to a full disk or a closed pipe. */
function writeNow(bytes: Buffer): number {
  try {
    return writeSync(process.stdout.fd, bytes);
  } catch {
    return 0;
  }
}

/** A word that needs no quotes: no spaces, and nothing that a terminal could take for a command. */
const PLAIN = /^[\w./:@{}*-]+$/;

/**
 * A log line for people: `12:00:00 info operation type=query name=Page codes=NOT_FOUND ms=12`. What is null or empty is left
 * out.
 */
function readableOf(line: string): string {
  // Safe: pino has written it.
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const words = Object.entries(fields).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.join(",") : `${value ?? ""}`;
    return text === "" ? [] : `${name}=${PLAIN.test(text) ? text : JSON.stringify(text)}`;
  });
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  return `${[clock, pino.levels.labels[Number(level)], msg, ...words].join(" ")}\n`;
}
