import pino from "pino";

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
 * Creates the log on standard output. It is buffered, because unbuffered writes take a tenth of a short operation. `close`
 * writes what is buffered; later lines are dropped.
 */
export function createLog(level: string) {
  const lines = pino.destination({
    minLength: LOG_BUFFER_BYTES,
    maxWrite: MAX_WRITE_BYTES,
    maxLength: MAX_LOG_BACKLOG_BYTES,
    periodicFlush: LOG_FLUSH_MS,
    sync: true,
  });
  // Ignores a full disk or a closed pipe.
  lines.on("error", () => {});
  // `flushSync` would retry forever when lines cannot be written.
  const flush = () => lines.flush();
  process.on("exit", flush);
  // No pid and host name: log collectors add their own.
  const log = pino({ level, base: null }, lines);
  const close = (): void => {
    log.level = "silent";
    process.off("exit", flush);
    lines.end();
  };
  return { log, close };
}
