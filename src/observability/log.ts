import pino from "pino";

/** Maps each log level to the severity name that the log collectors of cloud providers expect. */
export const SEVERITIES: Readonly<Record<string, string>> = {
  trace: "DEBUG",
  debug: "DEBUG",
  info: "INFO",
  warn: "WARNING",
  error: "ERROR",
  fatal: "CRITICAL",
};

type Write = (fields: object, message: string) => void;

/** Receives log lines. It may be a pino logger, such as `app.log` of Fastify, or another object with these functions. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/**
 * Buffered log lines are written when they reach `minLength` bytes, and at least every `periodicFlush` milliseconds. If more than
 * `maxLength` bytes could not be written, further lines are dropped.
 */
const BUFFER = { minLength: 4_096, periodicFlush: 200, maxLength: 1_048_576 };

/**
 * Creates the log on standard output: JSON, or readable lines on a terminal. Lines are buffered, because unbuffered writes take a tenth of
 * the time of a short operation. `close` writes the buffered lines; later lines are dropped. If the reader of the log stops reading, a
 * write fails immediately and is repeated with the next flush. Nothing waits for the reader, not even the end of the process.
 */
export function createLog(level: string): { readonly log: Log; readonly close: () => void } {
  const isWhole = /debug|trace/.test(level);
  const { isTTY } = process.stdout;
  const output = pino.destination({ ...BUFFER, sync: true, retryEAGAIN: () => false });
  // Errors such as a full disk or a closed pipe must not end the process.
  output.on("error", () => {});
  const flush = (): void => output.flush();
  process.on("exit", flush);
  const write = (line: string) => void output.write(isTTY ? readableOf(line, isWhole) : line);
  // `base: null` omits the pid and the host name, because log collectors add their own.
  const log = pino({ level, base: null, formatters: { level: levelOf } }, { write });
  const close = (): void => {
    log.level = "silent";
    process.off("exit", flush);
    flush();
    output.destroy();
  };
  return { log, close };
}

/** The level of a line: pino's number, and the name that log collectors expect. */
const levelOf = (label: string, level: number) => ({
  level,
  severity: SEVERITIES[label] ?? "DEFAULT",
});

/** The keys of a request that a terminal shows, in this order. `UNITS`: the units of numbers. */
const SHOWN = ["status", "type", "what", "name", "ms", "upstreamRequests", "bytes", "code", "codes"];
const UNITS: Readonly<Record<string, string>> = { ms: " ms", upstreamRequests: " upstream", bytes: " bytes" };

/**
 * Formats a readable line, without null or empty fields. Unless `isWhole` is set, the line of a request is shortened so that it does not
 * wrap at 100 columns: `12:00:00 200 query Page 12 ms 3 upstream NOT_FOUND`.
 */
function readableOf(line: string, isWhole: boolean): string {
  // Safe: pino has written the line.
  const { level, severity: _, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const isShort = !isWhole && (msg === "operation" || msg === "download");
  const words = (isShort ? SHOWN : Object.keys(fields)).flatMap((name) => {
    const text = `${fields[name] ?? ""}`;
    if (text === "") return [];
    // The value is quoted, because a terminal interprets some characters as commands.
    return isShort ? `${text.slice(0, 30)}${UNITS[name] ?? ""}` : `${name}=${JSON.stringify(fields[name])}`;
  });
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  const head = isShort ? [clock] : [clock, pino.levels.labels[Number(level)], msg];
  return `${[...head, ...words].join(" ").slice(0, isShort ? 100 : undefined)}\n`;
}
