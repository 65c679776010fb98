import { GraphQLError } from "graphql";
import { builder } from "./builder.ts";

builder.scalarType("DateTime", {
  description:
    "A timestamp as an ISO 8601 string, handed through exactly as the tracking service sent it. Fraction and UTC offset are kept; the gateway never re-formats it.",
  serialize: (value) => value,
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
