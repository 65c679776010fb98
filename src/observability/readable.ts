import pino from "pino";

/** A word that needs no quotes: no spaces, and nothing that a terminal could take for a command. */
const PLAIN = /^[\w./:@{}*-]+$/;

/**
 * A log line for people: `12:00:00 info operation type=query name=Page codes=NOT_FOUND ms=12`. What is null or empty is left
 * out.
 */
export function readableOf(line: string): string {
  // Safe: pino has written it.
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const words = Object.entries(fields).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.join(",") : `${value ?? ""}`;
    return text === "" ? [] : `${name}=${PLAIN.test(text) ? text : JSON.stringify(text)}`;
  });
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  return `${[clock, pino.levels.labels[Number(level)], msg, ...words].join(" ")}\n`;
}
