import { type GraphQLNamedType, type ValueNode, valueFromASTUntyped } from "graphql";
import { builder } from "./builder.ts";

const JSON_TYPE = "JSON";

builder.scalarType(JSON_TYPE, {
  description:
    "Any JSON value. Used only where the tracking service does not state the shape of a value, and for `raw` escape hatches.",
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node: ValueNode, variables) => valueFromASTUntyped(node, variables),
});

/** Shows nothing of a value until the answer is written. */
const seal = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "then" in value ? { toJSON: () => value } : value;

/**
 * Lets a JSON value, or each of a list, pass through the executor, which takes an object with a key `then` for a promise,
 * whatever is behind the key.
 */
export const sealEach = (value: unknown): unknown => (Array.isArray(value) ? value.map(seal) : seal(value));

export const isJson = ({ name }: GraphQLNamedType): boolean => name === JSON_TYPE;
