import { ERROR_CODES, GatewayError } from "../../errors.ts";
import { mapped } from "../../rest/api/record.ts";
import { enumType } from "../core/builder.ts";
import type { RunResource } from "../core/refs.ts";

/* The outcomes of commands on runs. */

export interface Commanded {
  /** The run after the command; null where the service does not show it. */
  readonly run: RunResource | null;
  readonly isSent: boolean;
}

/** A command, or the error of the service. */
export type CommandResult = Commanded | GatewayError;

export const ErrorCode = enumType(
  "ErrorCode",
  "The code of an error, as in `extensions.code`.",
  mapped(ERROR_CODES, ({ meaning }) => meaning),
);

export const CommandOutcome = enumType("CommandOutcome", "The outcome of a command.", {
  DONE: "The service accepted it.",
  NOT_FOUND: "The run does not exist, or not for the caller.",
  NOT_SENT: "It was not sent: the run had finished, or `code` says why.",
  REFUSED: "The service refused it.",
  UNKNOWN: "It may have taken effect. Read the run before you repeat it.",
});

export function outcomeOf(result: CommandResult): typeof CommandOutcome.$inferType {
  if (!(result instanceof GatewayError)) return result.isSent ? "DONE" : "NOT_SENT";
  const { outcome, upstream } = result.details;
  if (outcome) return "UNKNOWN";
  if (result.code === "NOT_FOUND") return "NOT_FOUND";
  // Before a command is sent, the record is read.
  return upstream?.method !== "GET" && upstream?.status !== undefined ? "REFUSED" : "NOT_SENT";
}
