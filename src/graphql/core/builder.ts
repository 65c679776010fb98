import SchemaBuilder from "@pothos/core";
import { GraphQLError, valueFromASTUntyped, type ValueNode } from "graphql";
import { isDeeper, MAX_NESTING } from "../../rest/api/record.ts";
import type { Context } from "./context.ts";

interface SchemaTypes {
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    ParameterValue: { Input: string | number | boolean; Output: string | number | boolean };
    _Any: { Input: unknown; Output: unknown };
  };
}

/** The schema builder. Fields are nullable by default; non-null is for values that the gateway guarantees. */
export const builder = new SchemaBuilder<SchemaTypes>({});

/** The builder's extended types, for helpers that accept a ref. */
export type PothosTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;

builder.scalarType("DateTime", {
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc3339",
  description: "ISO 8601 timestamp with UTC offset and fraction, as the tracking service sent it.",
  serialize: (value) => value,
  extensions: { isAsIs: (value: unknown) => typeof value === "string" },
});

/** Passes a value of the caller on. */
function checkNesting(value: unknown): unknown {
  if (!isDeeper(value, MAX_NESTING)) return value;
  throw new GraphQLError(`JSON: expected at most ${MAX_NESTING} levels of nesting, got more`);
}

builder.scalarType("JSON", {
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259",
  description: "Any JSON value, where the tracking service does not document a shape.",
  serialize: (value) => value,
  parseValue: checkNesting,
  parseLiteral: (node: ValueNode, variables) => checkNesting(valueFromASTUntyped(node, variables)),
});

const isParameterValue = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

builder.scalarType("ParameterValue", {
  description: "A string, a number or a boolean.",
  serialize: (value) => {
    if (isParameterValue(value)) return value;
    throw new GraphQLError(`ParameterValue: expected a string, a number or a boolean, got ${typeof value}`);
  },
});
