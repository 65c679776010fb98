import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  buildClientSchema,
  buildSchema,
  execute,
  getIntrospectionQuery,
  type GraphQLResolveInfo,
  type IntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  parse,
  print,
  printSchema,
  visit,
} from "graphql";
import fc from "fast-check";
import { expect, test } from "vitest";
import { printPlain } from "../src/graphql/federation/subgraph.ts";
import { schema } from "../src/graphql/schema.ts";
import { pathToArray } from "graphql/jsutils/Path.js";
import { startDemoGateway } from "./support/demo-gateway.ts";
import { EXISTING_ROOTS, operation, VARIABLES } from "./support/random-operations.ts";
import { MCP_HEADERS, rpc } from "./support/agent.ts";
import { post } from "./support/raw-requests.ts";

const isFederations = (name: string) => /^_[^_]/.test(name);

test("the committed schema equals the schema that introspection returns", async () => {
  const { ask } = await startDemoGateway();
  const { data } = await ask<IntrospectionQuery, object>(
    getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true }),
  );
  const served = buildClientSchema(data);
  const printed = printPlain(schema);
  await expect(printed).toMatchFileSnapshot("../schema/schema.graphql");
  expect(printSchema(lexicographicSortSchema(served))).toBe(printSchema(buildSchema(printed)));
  // Tools that read the schema would have to map its scalar.
  expect(Object.keys(served.getTypeMap()).filter(isFederations)).toEqual([]);
});

test("`_service` returns the committed subgraph without a token or introspection", async () => {
  const { ask, calls } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
  const { data } = await ask<{ _service: { sdl: string } }, object>(
    "{ _service { sdl } }",
    {},
    { token: null },
  );
  await expect(data._service.sdl).toMatchFileSnapshot("../schema/subgraph.graphql");
  expect(calls()).toEqual([]);
});

test("nothing in the schema is deprecated", () => {
  expect(printPlain(schema)).not.toContain("@deprecated");
});

test("each field, argument and enum value of the schema occurs in a test", () => {
  const texts = readdirSync("test", { recursive: true, encoding: "utf8" })
    .filter((path) => /^(?!generated|.*node_modules|.*package-lock).*\.(?:ts|json|graphql)$/.test(path))
    .map((path) => readFileSync(join("test", path), "utf8"));
  const words = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
  const missing: string[] = [];
  const check = (owner: string, { name }: { readonly name: string }): string => {
    if (!words.has(name)) missing.push(`${owner}.${name}`);
    return `${owner}.${name}`;
  };
  for (const type of Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"))) {
    if (isEnumType(type)) for (const value of type.getValues()) check(type.name, value);
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) check(type.name, field);
    if (isObjectType(type) || isInterfaceType(type))
      for (const field of Object.values(type.getFields()))
        for (const argument of field.args) check(check(type.name, field), argument);
  }
  expect(missing).toEqual([]);
});

test("the list of all agent tools takes at most 36 kB", async () => {
  const { url } = await startDemoGateway({ env: { MCP: "write" } });
  const response = await post(`${url}/mcp`, rpc("tools/list"), MCP_HEADERS);
  expect((await response.text()).length).toBeLessThanOrEqual(36_000);
});

test("every type, field, argument and enum value is described", () => {
  const bare: string[] = [];
  visit(parse(printPlain(schema)), {
    enter: (node) => {
      if (node.kind === Kind.SCHEMA_DEFINITION || node.kind === Kind.DIRECTIVE_DEFINITION) return false;
      if ("description" in node && !node.description?.value.trim()) bare.push(print(node));
      return undefined;
    },
  });
  expect(bare).toEqual([]);
});

test.each(["document", "polyaxon-0.4"])(
  "a @semanticNonNull field is null only with an error: %s",
  async (profile) => {
    const { ask } = await startDemoGateway({ env: { UPSTREAM_PROFILE: profile } });
    const own = buildSchema(printPlain(schema));
    const isMarked = ({ parentType, fieldName }: GraphQLResolveInfo) =>
      /@semanticNonNull/.test(print(parentType.getFields()[fieldName]?.astNode ?? parse("{ a }")));
    const material = { roots: EXISTING_ROOTS, leftOut: new Set<string>(), depth: 3 };
    const isTrue = fc.asyncProperty(operation(material), async (text) => {
      const { data, errors = [] } = await ask<unknown, object>(text, VARIABLES);
      const failed = errors.flatMap(({ path, extensions }) => (extensions["paths"] as object[]) ?? [path]);
      const nulls: string[] = [];
      await execute({
        schema: own,
        document: parse(text),
        variableValues: VARIABLES,
        rootValue: data,
        typeResolver: ({ __typename }: { __typename: string }) => __typename,
        fieldResolver: (parent: Record<string, unknown>, _, __, info) => {
          if (parent[info.path.key] === null && isMarked(info)) nulls.push(`${pathToArray(info.path)}`);
          return parent[info.path.key];
        },
      });
      expect(nulls.filter((path) => !failed.some((each) => `${each},`.startsWith(`${path},`)))).toEqual([]);
    });
    await fc.assert(isTrue, { numRuns: 40 });
  },
);
