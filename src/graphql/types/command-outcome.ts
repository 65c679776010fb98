import type { ObjectRef } from "@pothos/core";
import { ERROR_CODES, GatewayError } from "../../errors.ts";
import { mapped } from "../../rest/api/record.ts";
import { computedFrom, computedFromOrNull, enumType, objectType, type PothosTypes } from "../core/builder.ts";
import type { RunResource } from "../core/refs.ts";

/* The outcome of a command, and the fields that mutations with several commands have in common. */

interface Sent {
  readonly isSent: boolean;
}

export interface Commanded extends Sent {
  /** The run after the command; null if the service does not return it. */
  readonly run: RunResource | null;
}

/** The result of a command, or its error. */
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

export function outcomeOf(result: Sent | GatewayError): typeof CommandOutcome.$inferType {
  if (!(result instanceof GatewayError)) return result.isSent ? "DONE" : "NOT_SENT";
  const { outcome, upstream } = result.details;
  if (outcome) return "UNKNOWN";
  if (result.code === "NOT_FOUND") return "NOT_FOUND";
  // Reads come before the command, so if a GET failed, the command was not sent.
  return upstream?.method !== "GET" && upstream?.status !== undefined ? "REFUSED" : "NOT_SENT";
}

/** One command of a mutation with several commands: its result or its error. */
interface BatchItem {
  readonly result: Sent | GatewayError;
}

export const orError = <Value>(promise: Promise<Value>): Promise<Value | GatewayError> =>
  promise.catch((error: unknown) => {
    if (error instanceof GatewayError) return error;
    throw error;
  });

const errorOf = ({ result }: BatchItem) => (result instanceof GatewayError ? result : null);

/** Defines the payload type of a mutation with several commands. `one`: the noun for the argument's items, such as `id`. */
export const payloadOfSeveral = <Result extends BatchItem>(
  name: string,
  description: string,
  one: string,
  type: ObjectRef<PothosTypes, Result>,
) =>
  objectType<readonly Result[]>(name, description, (t) => ({
    results: t.field(
      computedFrom([type], `One for each ${one}, in their order.`, (results: readonly Result[]) => results),
    ),
  }));

/** The fields that report whether a command was executed and, if not, why. */
export const resultFields = <Result extends BatchItem>(
  t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, Result>,
) => ({
  outcome: t.field(
    computedFrom(CommandOutcome, "The outcome of the command.", ({ result }: Result) => outcomeOf(result)),
  ),
  code: t.field(
    computedFromOrNull(
      ErrorCode,
      "The code of its error; null if the outcome is `DONE`, or `NOT_SENT` because the run had finished.",
      (result: Result) => errorOf(result)?.code ?? null,
    ),
  ),
  message: t.field(
    computedFromOrNull(
      "String",
      "The message of its error; null without one.",
      (result: Result) => errorOf(result)?.message ?? null,
    ),
  ),
  retryAfterSeconds: t.field(
    computedFromOrNull(
      "Int",
      "Seconds after which to try again; null if that is not known.",
      (result: Result) => errorOf(result)?.details.retryAfterSeconds ?? null,
    ),
  ),
});
