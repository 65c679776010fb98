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
import { printPlain, withoutFederation } from "../src/graphql/federation/subgraph.ts";
import { schema } from "../src/graphql/schema.ts";
import { startDemoGateway } from "./support/demo-gateway.ts";

const isFederations = (name: string) => /^_[^_]/.test(name);

test("the committed schema is the one that is served, without what is there for routers", async () => {
  const { ask } = await startDemoGateway();
  const { data } = await ask<IntrospectionQuery, object>(
    getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true }),
  );
  const served = buildClientSchema(data);
  await expect(printPlain(served)).toMatchFileSnapshot("../schema/schema.graphql");
  // Tools that walk the schema would have to map its scalar.
  expect(Object.keys(served.getTypeMap()).filter(isFederations)).toEqual([]);
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

test("the schema of 1.0 is small, and has one way for each thing", () => {
  const own = withoutFederation(schema);
  const fields = Object.values(own.getTypeMap())
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) => (isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []));
  const sdl = printPlain(schema);
  expect(Object.keys(own.getMutationType()?.getFields() ?? {}).length).toBeLessThanOrEqual(46);
  expect(fields.length).toBeLessThanOrEqual(560);
  expect(fields.flatMap(({ args }) => args).length).toBeLessThanOrEqual(210);
  expect(Buffer.byteLength(sdl)).toBeLessThanOrEqual(105_000);
  expect(sdl).not.toContain("@deprecated");
});

test("an agent reads at most 32 kB to know all tools", async () => {
  const { url } = await startDemoGateway({ env: { MCP: "write" } });
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  expect((await response.text()).length).toBeLessThanOrEqual(32_000);
});

test("every type, field, argument and enum value is described", () => {
  const bare = Object.values(withoutFederation(schema).getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(coordinates)
    .flatMap(([coordinate, description]) => (description?.trim() ? [] : [coordinate]));
  expect(bare).toEqual([]);
});
