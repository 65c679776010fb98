import {
  defaultFieldResolver,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  type ValueNode,
  valueFromASTUntyped,
} from "graphql";
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

const sealEach = (value: unknown): unknown => (Array.isArray(value) ? value.map(seal) : seal(value));

/**
 * Lets every JSON value pass through the executor, which takes an object with a key `then` for a promise, whatever is
 * behind the key.
 */
export function sealJson(schema: GraphQLSchema): GraphQLSchema {
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()))
    .filter(({ type }) => getNamedType(type).name === JSON_TYPE);
  for (const field of fields) {
    const { resolve = defaultFieldResolver } = field;
    field.resolve = (...given) => {
      const value: unknown = resolve(...given);
      return value instanceof Promise ? value.then(sealEach) : sealEach(value);
    };
  }
  return schema;
}
