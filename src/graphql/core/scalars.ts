import { GraphQLError, type ValueNode, valueFromASTUntyped } from "graphql";
import { builder } from "./builder.ts";

builder.scalarType("DateTime", {
  description:
    "A timestamp as an ISO 8601 string, handed through exactly as the tracking service sent it. Fraction and UTC offset are kept; the gateway never re-formats it.",
  serialize: (value) => value,
});

builder.scalarType("JSON", {
  description:
    "Any JSON value. Used only where the tracking service does not state the shape of a value, and for `raw` escape hatches.",
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node: ValueNode, variables) => valueFromASTUntyped(node, variables),
});

const isParameterValue = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

builder.scalarType("ParameterValue", {
  description: "One value of a hyperparameter: a string, a number or a boolean.",
  serialize: (value) => {
    if (isParameterValue(value)) return value;
    throw new GraphQLError(`ParameterValue: expected a string, a number or a boolean, got ${typeof value}`);
  },
});
