import { GraphQLError, valueFromASTUntyped, type ValueNode, visit } from "graphql";
import type { ScalarExtensions } from "../../engine/field-extensions.ts";
import { MAX_NESTING } from "../../rest/api/json-scan.ts";
import { isDeeper } from "../../rest/api/parse-json.ts";
import { isObject, joinPath } from "../../rest/api/record.ts";
import { builder } from "./builder.ts";

builder.scalarType("DateTime", {
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc3339",
  description: "ISO 8601 timestamp with UTC offset and fraction, as the tracking service sent it.",
  serialize: (value) => value,
  extensions: { isPassThrough: (value) => typeof value === "string" } satisfies ScalarExtensions,
});

builder.scalarType("DateTimeOrDay", {
  description:
    "A day such as `2026-03-01`, or a time with UTC offset such as `2026-03-01T12:30:00Z`, to the millisecond. A day begins at midnight in the time zone of the service, see `gateway.timeZone`.",
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === "string") return value;
    throw new GraphQLError("DateTimeOrDay: expected a string");
  },
});

function checkNesting(value: unknown): unknown {
  if (!isDeeper(value, MAX_NESTING)) return value;
  throw new GraphQLError(`JSON: expected at most ${MAX_NESTING} levels of nesting, got more`);
}

/** Throws `GraphQLError` for a number that lost precision when it was parsed: a long integer, or a number beyond the range of a double. */
function checkNumbers(value: unknown, path = ""): void {
  if (!areKept(value)) rejectNumbers(value, path);
}

/**
 * Whether all numbers in a value have kept their precision. Does not build paths for error messages, because this would take ten times as
 * long.
 */
function areKept(value: unknown): boolean {
  if (typeof value === "number") return isKept(value);
  if (Array.isArray(value)) return value.every(areKept);
  if (isObject(value)) for (const name in value) if (!areKept(value[name])) return false;
  return true;
}

function rejectNumbers(value: unknown, path: string): void {
  if (typeof value === "object" && value !== null)
    for (const [name, inner] of Object.entries(value)) rejectNumbers(inner, joinPath(path, name));
  else if (typeof value === "number" && !isKept(value)) throw notKept(`${value}`, path);
}

const isKept = (value: number): boolean =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);

const notKept = (got: string, path = "", nodes: ValueNode | null = null) =>
  new GraphQLError(
    `JSON: expected numbers up to 1.8e308, integers up to ${Number.MAX_SAFE_INTEGER}, which are kept, got ${got}${path && ` at ${path}`}; write it as text`,
    { nodes },
  );

/** Throws `GraphQLError` for a literal of a number that would lose precision. Accepts `1e22`, because it has few digits. */
function checkWritten(node: Extract<ValueNode, { readonly value: string }>): void {
  const number = Number(node.value);
  const isLong = /\d{16}/.test(node.value.replace(".", "")) || !Number.isFinite(number);
  if (isLong && !isKept(number)) throw notKept(node.value, "", node);
}

builder.scalarType("JSON", {
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259",
  description: "Any JSON value, for values whose shape the tracking service does not document.",
  serialize: (value) => value,
  // `checkNesting` is not needed here, because the nesting of variables was limited before the request was parsed.
  parseValue: (value) => {
    checkNumbers(value);
    return value;
  },
  parseLiteral: (node: ValueNode, variables) => {
    visit(node, {
      IntValue: checkWritten,
      FloatValue: checkWritten,
      Variable: ({ name }) => checkNumbers(variables?.[name.value], name.value),
    });
    return checkNesting(valueFromASTUntyped(node, variables));
  },
});
