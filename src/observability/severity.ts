/** Maps each log level to the severity name that the log collectors of cloud providers expect. */
export const SEVERITIES: Readonly<Record<string, string>> = {
  trace: "DEBUG",
  debug: "DEBUG",
  info: "INFO",
  warn: "WARNING",
  error: "ERROR",
  fatal: "CRITICAL",
};
