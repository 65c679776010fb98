import pino from "pino";
import { readableOf } from "./readable.ts";

/** Buffered log lines are written when they have this size in bytes, and at least this often in milliseconds. */
const LOG_BUFFER_BYTES = 4_096;
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

/** Buffered, because unbuffered writes take a tenth of a short operation. */
function buffered() {
  const lines = pino.destination({
    minLength: LOG_BUFFER_BYTES,
    maxLength: MAX_LOG_BACKLOG_BYTES,
    periodicFlush: LOG_FLUSH_MS,
    sync: true,
  });
  // Ignores a full disk or a closed pipe.
  lines.on("error", () => {});
  // `flushSync` would retry forever when lines cannot be written.
  return { lines, flush: () => lines.flush(), end: () => lines.end() };
}
