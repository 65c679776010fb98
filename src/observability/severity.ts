/** The levels of log lines, with the names that the log collectors of clouds expect. */
export const SEVERITIES: Readonly<Record<string, string>> = {
  trace: "DEBUG",
  debug: "DEBUG",
  info: "INFO",
  warn: "WARNING",
  error: "ERROR",
  fatal: "CRITICAL",
};
