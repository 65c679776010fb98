import {
  buildClientSchema,
  getIntrospectionQuery,
  type GraphQLNamedType,
  type IntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from "graphql";
import { expect, test } from "vitest";
import { printPlain, withoutFederation } from "../src/graphql/federation/sdl.ts";
import { schema } from "../src/graphql/schema.ts";
import { startDemoGateway } from "./support/demo-gateway.ts";

const isFederations = (name: string) => /^_[^_]/.test(name);

test("the committed schema is the one that is served, but for what federation adds", async () => {
  const { ask } = await startDemoGateway();
  const { data } = await ask<IntrospectionQuery, object>(
    getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true }),
  );
  const served = buildClientSchema(data);
  await expect(printPlain(served)).toMatchFileSnapshot("../schema/schema.graphql");
  expect(Object.keys(served.getQueryType()?.getFields() ?? {}).filter(isFederations)).toEqual([
    "_entities",
    "_service",
  ]);
});

test("the committed subgraph is what `_service` tells, without a token and without introspection", async () => {
  const { ask, calls } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
  const { data } = await ask<{ _service: { sdl: string } }, object>(
    "{ _service { sdl } }",
    {},
    { token: null },
  );
  await expect(data._service.sdl).toMatchFileSnapshot("../schema/subgraph.graphql");
  expect(calls()).toEqual([]);
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
  const bare = Object.values(withoutFederation(schema).getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(coordinates)
    .flatMap(([coordinate, description]) => (description?.trim() ? [] : [coordinate]));
  expect(bare).toEqual([]);
});
