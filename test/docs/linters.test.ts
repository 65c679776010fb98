import {
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
} from "graphql";
import { expect, test } from "vitest";
import { schema, schemaFor } from "../../src/graphql/schema.ts";

/*
 * What graphql-eslint finds in the schema, by the words of its rules: docs/guide.md, "What linters find". The package itself needs
 * ESLint, which is not installed.
 */

type Composite = GraphQLObjectType | GraphQLInterfaceType;

const types = (of = schema) =>
  Object.values(of.getTypeMap()).filter((type) => !isIntrospectionType(type) && !type.name.startsWith("_"));
const composites = (of = schema): Composite[] =>
  types(of).filter((type) => isObjectType(type) || isInterfaceType(type));
const ROOTS = new Set(["Query", "Mutation", "Subscription"]);
const fieldsOf = (type: Composite) =>
  Object.values(type.getFields()).filter(({ name }) => !name.startsWith("_"));
const edgesOf = (of = schema) =>
  types(of).filter((type): type is GraphQLObjectType => isObjectType(type) && type.name.endsWith("Edge"));

test("names and descriptions are as schema-recommended wants them", () => {
  const faults = types().flatMap(({ name, description }) =>
    /^[A-Z][A-Za-z0-9]*$/.test(name) &&
    !/^(?:Enum|Type|Union|Interface)|(?:Enum|Type|Union|Interface)$/.test(name) &&
    (description || !/[a-z]/.test(name))
      ? []
      : [name],
  );
  const fields = composites().flatMap((type) =>
    fieldsOf(type).flatMap(({ name, description }) =>
      /^[a-z][A-Za-z0-9]*$/.test(name) && description ? [] : [`${type.name}.${name}`],
    ),
  );
  expect([...faults, ...fields]).toEqual([]);
});

test("no-typename-prefix finds three fields", () => {
  const found = composites().flatMap((type) =>
    fieldsOf(type).flatMap(({ name }) =>
      name.toLowerCase().startsWith(type.name.toLowerCase()) ? [`${type.name}.${name}`] : [],
    ),
  );
  expect(found.toSorted()).toEqual(["Experiment.experimentGroup", "Group.groupType", "User.username"]);
});

test("strict-id-in-types finds no entity", () => {
  const without = composites().filter(
    (type) => isObjectType(type) && !ROOTS.has(type.name) && String(type.getFields()["id"]?.type) !== "ID!",
  );
  const entities = without.filter((type) => type.getInterfaces().some(({ name }) => name === "Entity"));
  expect(entities).toEqual([]);
  // Values, which the guide names two of.
  expect(without.map(({ name }) => name)).toEqual(expect.arrayContaining(["MetricPoint", "RunSummary"]));
});

test("relay-arguments and relay-connection-types find nothing", () => {
  const found = composites().flatMap((type) =>
    fieldsOf(type).flatMap(({ name, type: of, args }) => {
      const isPaged = ["first", "after"].every((each) => args.some((arg) => arg.name === each));
      return getNamedType(of).name.endsWith("Connection") && !isPaged ? [`${type.name}.${name}`] : [];
    }),
  );
  const connections = composites().filter(({ name }) => name.endsWith("Connection"));
  const shapes = connections.map((type) => {
    const { edges, pageInfo } = type.getFields();
    return [edges && isListType(getNullableType(edges.type)), String(pageInfo?.type)];
  });
  expect(found).toEqual([]);
  expect(new Set(shapes.map(String))).toEqual(new Set(["true,PageInfo!"]));
});

test("relay-edge-types finds entries that cannot be looked up, and with Relay's names nothing else", () => {
  const relay = schemaFor({ Node: "ClusterNode", Entity: "Node" });
  const found = edgesOf(relay).flatMap((edge) => {
    const node = getNamedType(edge.getFields()["node"]?.type);
    return isObjectType(node) && !node.getInterfaces().some(({ name }) => name === "Node") ? [node.name] : [];
  });
  expect(found.toSorted()).toEqual(["MetricRecord", "StatusRecord"]);
});
