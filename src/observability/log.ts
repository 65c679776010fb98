import { writeSync } from "node:fs";
import pino from "pino";
import { readableOf } from "./readable.ts";

/**
 * Buffered log lines are written when they have this size in bytes, and at least this often in milliseconds. Workers share
 * standard output, and a pipe keeps a write together only up to 4,096 bytes.
 */
const LOG_BUFFER_BYTES = 4_095;
const MAX_WRITE_BYTES = 4_096;
const LOG_FLUSH_MS = 200;

/** Maximum bytes of log lines that are kept while they cannot be written. Further lines are dropped. */
const MAX_LOG_BACKLOG_BYTES = 1_048_576;

/**
 * Creates the log on standard output: JSON, or on a terminal lines for people. `close` writes what is buffered; later lines
 * are dropped.
 */
export function createLog(level: string) {
  const { lines, flush, end } = process.stdout.isTTY ? onTerminal() : buffered();
  process.on("exit", flush);
  // No pid and host name: log collectors add their own.
  const log = pino({ level, base: null }, lines);
  const close = (): void => {
    log.level = "silent";
    process.off("exit", flush);
    end();
  };
  return { log, close };
}

const onTerminal = () => ({
  lines: { write: (line: string) => void process.stdout.write(readableOf(line)) },
  flush: () => {},
  end: () => {},
});

/**
 * Buffered, because unbuffered writes take a tenth of a short operation. Who reads the log may stop: then a write fails at
 * once, as Node does not let a pipe block, and is tried again with the next flush. Nothing waits for it, not even the end.
 */
function buffered() {
  const pieces: Buffer[] = [];
  let open = "";
  let length = 0;
  let isStuck = false;

  const closePiece = (): void => {
    if (open !== "") pieces.push(Buffer.from(open));
    open = "";
  };
  const flush = (): void => {
    closePiece();
    isStuck = false;
    for (let [piece] = pieces; piece && !isStuck; [piece] = pieces) {
      const written = writeNow(piece);
      length -= written;
      isStuck = written < piece.length;
      if (isStuck) pieces[0] = piece.subarray(written);
      else pieces.shift();
    }
  };
  const timer = setInterval(flush, LOG_FLUSH_MS).unref();
  const write = (line: string): void => {
    if (length > MAX_LOG_BACKLOG_BYTES) return;
    if (open.length + line.length > MAX_WRITE_BYTES) closePiece();
    open += line;
    length += line.length;
    if (length >= LOG_BUFFER_BYTES && !isStuck) flush();
  };
  const end = (): void => {
    flush();
    clearInterval(timer);
  };
  return { lines: { write }, flush, end };
}

/** Writes as much as can be written now. Returns how much that was: nothing to a full disk or a closed pipe. */
function writeNow(piece: Buffer): number {
  try {
    return writeSync(process.stdout.fd, piece);
  } catch {
    return 0;
  }
}
