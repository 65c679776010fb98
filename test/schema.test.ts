import {
  type GraphQLNamedType,
  isInputObjectType,
  isEnumType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { expect, test } from "vitest";
import { schema } from "../src/graphql/schema.ts";

test("the committed schema is ours", async () => {
  await expect(`${printSchema(lexicographicSortSchema(schema))}\n`).toMatchFileSnapshot(
    "../schema/schema.graphql",
  );
});

/** Every coordinate of a type that must be described. */
function coordinates(type: GraphQLNamedType): [string, string | null | undefined][] {
  const own: [string, string | null | undefined][] = [[type.name, type.description]];
  if (isEnumType(type))
    own.push(
      ...type
        .getValues()
        .map((value): [string, string | null | undefined] => [
          `${type.name}.${value.name}`,
          value.description,
        ]),
    );
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      own.push([`${type.name}.${field.name}`, field.description]);
      for (const arg of field.args) own.push([`${type.name}.${field.name}(${arg.name}:)`, arg.description]);
    }
  }
  if (isInputObjectType(type)) {
    for (const field of Object.values(type.getFields()))
      own.push([`${type.name}.${field.name}`, field.description]);
  }
  return own;
}

test("every type, field, argument and enum value is described", () => {
  const bare = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(coordinates)
    .flatMap(([coordinate, description]) => (description?.trim() ? [] : [coordinate]));
  expect(bare).toEqual([]);
});
