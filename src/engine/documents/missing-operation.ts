import { type DocumentNode, type GraphQLError, Kind } from "graphql";
import { rejection } from "../errors.ts";

/** Of how many operations an error tells the names. */
const MAX_NAMES = 10;

/** The error of a document that does not have the operation asked for. Its suggestion says what the document has. */
export function missingOperation(
  { definitions }: DocumentNode,
  operationName: string | null | undefined,
): GraphQLError {
  const names = definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? [definition.name?.value ?? null] : [],
  );
  return rejection(
    `${problemOf(names, operationName)}${suggestionOf(names)}`,
    "OPERATION_RESOLUTION_FAILURE",
  );
}

function problemOf(names: readonly (string | null)[], operationName: string | null | undefined): string {
  if (names.length === 0) return "Expected an operation, got a document without one.";
  if (operationName == null)
    return `Expected operationName, because the document has ${names.length} operations.`;
  // A text that is no name says nothing that helps.
  const got = /^\w{1,100}$/.test(operationName) ? `"${operationName}"` : "a text that is no name";
  return `Expected operationName to be the name of an operation of the document, got ${got}.`;
}

function suggestionOf(names: readonly (string | null)[]): string {
  const known = names.filter((name) => name !== null).slice(0, MAX_NAMES);
  return known.length === 0 ? "" : ` Did you mean ${known.map((name) => `"${name}"`).join(", ")}?`;
}
