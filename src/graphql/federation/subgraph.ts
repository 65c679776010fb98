import { buildSchema, type GraphQLSchema, lexicographicSortSchema, print, visit } from "graphql";
import {
  getDocumentNodeFromSchema,
  GraphQLDeferDirective,
  GraphQLStreamDirective,
  MapperKind,
  mapSchema,
} from "@graphql-tools/utils";
import type { FieldExtensions, SchemaExtensions } from "../../engine/field-extensions.ts";
import { InputError } from "../../errors.ts";
import { either } from "../../rest/api/kinds.ts";
import { builder, exposedOrNull } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import { resolveId, resolveRunId, resolveName } from "../core/ids.ts";
import { resourceRefs, Run } from "../core/refs.ts";
import type { Kind, Resource } from "../core/resource.ts";

/*
 * The schema as an Apollo Federation subgraph. Other subgraphs refer to our resources by global id or by name. A representation becomes an
 * ordinary resource. Fields that follow from the key of a representation cause no request. Own code, because Pothos' federation plugin
 * fails all representations if one is unknown, and needs Apollo's printer, whose license is not permissive.
 */

type Representation = { readonly __typename?: unknown } & Readonly<Record<string, unknown>>;

/** Functions that resolve the value of a key field to a resource, by the name of the field. They throw `InputError`. */
type Keys = Readonly<Record<string, (text: string) => Resource>>;

const ENTITIES: readonly (readonly [type: string, keys: Keys])[] = [
  ...Object.values(resourceRefs).map(({ name, kind }) => [name, keysOf(kind)] as const),
  // An entity interface. With `type Run @interfaceObject`, another subgraph adds fields to runs of all kinds.
  [
    Run.name,
    { id: (text) => resolveRunId("id", text), reference: (text) => resolveRunId("reference", text) },
  ],
];

function keysOf(kind: Kind): Keys {
  const { nameField } = kind;
  return {
    id: (id) => resolveId(kind, "id", id),
    ...(nameField && { [nameField]: (name: string) => resolveName(kind, nameField, name) }),
    ...(nameField === "uniqueName" && { reference: (name: string) => resolveName(kind, "reference", name) }),
  };
}

function find(representation: Representation, keys: Keys): Resource {
  for (const [field, findBy] of Object.entries(keys)) {
    const text = representation[field];
    if (typeof text === "string") return findBy(text);
  }
  throw new InputError(`expected a text in ${either(Object.keys(keys))}, got none`);
}

const MAX_REPRESENTATIONS = 1_000;

builder.scalarType("_Any", { serialize: (value) => value });

const EntityUnion = builder.unionType("_Entity", {
  types: Object.values(resourceRefs),
  resolveType: ({ kind }) => kind.name,
});

const Service = builder.objectRef<{ readonly sdl: string }>("_Service").implement({
  fields: (t) => ({ sdl: t.string(exposedOrNull("sdl", "The schema in SDL.")) }),
});

const unserved = (): never => {
  throw new TypeError("expected a resolver of `serveSubgraph`");
};

builder.queryFields((t) => ({
  _entities: t.field({
    type: [EntityUnion],
    nullable: { list: false, items: true },
    args: { representations: t.arg({ type: ["_Any"], required: true }) },
    // A router assigns errors to the results of representations, so each representation needs its own error.
    extensions: { itemsOf: "representations", errorsStaySeparate: true } satisfies FieldExtensions,
    resolve: unserved,
  }),
  _service: t.field({ type: Service, nullable: false, resolve: unserved }),
}));

/** The first version that supports keys on interfaces. */
const LINK = { url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"] };

/** The transitional directive for fields that are null only with an error: https://specs.apollo.dev/nullability/v0.4. */
const NULLABILITY = buildSchema(
  '"Null only together with an error. `levels`: 0 is the field, 1 the items of its list." directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION',
);

/**
 * Matches lines of SDL with fields that are null only with an error: results of lookups, commands and reads, and values derived from them.
 */
const NULL_WITH_ERROR =
  /^(?:Query|Mutation|\w+Payload)\..*[^!]$|: \w+Connection$|^Experiment\.metricS|\.summary:|^ExperimentSummary\..*]$|^(?:ExperimentJob|MetricRecord)\.experiment:|\.subject:/;

/** Matches lists whose items are null only with an error. */
const ITEMS_NULL_WITH_ERROR = /\.entities: /;

/** Builds the schema, with the directives of federation and of nullability in the extensions that the printer of the SDL reads. */
export function toSubgraphSchema(): GraphQLSchema {
  const directives = [...NULLABILITY.getDirectives(), GraphQLDeferDirective, GraphQLStreamDirective];
  const extensions = { directives: { link: LINK } };
  const schema = builder.toSchema({ directives, extensions, sortSchema: false });
  for (const [name, entityKeys] of ENTITIES) {
    const type = schema.getType(name);
    if (!type) throw new TypeError(`the schema has no entity ${name}`);
    const key = Object.keys(entityKeys).map((fields) => ({ fields }));
    type.extensions = { ...type.extensions, directives: { key }, entityKeys };
  }
  for (const type of Object.values(schema.getTypeMap()))
    for (const field of "getFields" in type ? Object.values(type.getFields()) : []) {
      const line = `${type.name}.${field.name}: ${field.type}`;
      const levels = ITEMS_NULL_WITH_ERROR.test(line) ? { levels: [1] } : {};
      if ("levels" in levels || NULL_WITH_ERROR.test(line))
        field.extensions = { ...field.extensions, directives: { semanticNonNull: levels } };
    }
  return schema;
}

/** Adds the resolvers of federation's fields. They need the final schema, because types may have been renamed. */
export function serveSubgraph(schema: GraphQLSchema): GraphQLSchema {
  const { _service: service, _entities: entities } = schema.getQueryType()?.getFields() ?? {};
  if (!service || !entities) throw new TypeError("expected the schema of a subgraph");
  let sdl: string | null = null;
  service.resolve = () => ({ sdl: (sdl ??= printSubgraph(schema)) });
  let shown: GraphQLSchema | null = null;
  // Tools that read the schema from the gateway do not support federation's own types.
  const introspected = () => (shown ??= withoutFederation(schema));
  schema.extensions = { ...schema.extensions, introspected } satisfies SchemaExtensions;
  entities.resolve = (_, { representations }: { readonly representations: readonly unknown[] }) => {
    within("representations", representations.length, { from: 0, to: MAX_REPRESENTATIONS });
    // Each representation has its own promise, so an invalid one causes a single null.
    return representations.map(async (given, index) => {
      const representation = (given ?? {}) as Representation;
      const { __typename: name } = representation;
      const type = typeof name === "string" ? schema.getType(name) : null;
      // Safe: only `toSubgraphSchema` writes the extension.
      const keys = type?.extensions["entityKeys"] as Keys | undefined;
      if (!keys) throw new InputError(`representations[${index}]: expected the __typename of an entity`);
      return find(representation, keys);
    });
  };
  return schema;
}

/** Whether a type or root field belongs to federation: `_Any`, `_entities`. Names of introspection have two underscores. */
const isFederations = (name: string) => /^_[^_]/.test(name);

/** The schema as clients see it, without the types and fields for routers. */
export const withoutFederation = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.TYPE]: (type) => (isFederations(type.name) ? null : undefined),
    [MapperKind.QUERY_ROOT_FIELD]: (_, name) => (isFederations(name) ? null : undefined),
  });

/** Prints the SDL with the directives of fields and types, which introspection omits. Leaves out the directives that match `left`. */
function printWithout(left: RegExp, schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(lexicographicSortSchema(withoutFederation(schema)));
  const leave = ({ name }: { readonly name: { readonly value: string } }) =>
    left.test(name.value) ? null : undefined;
  return `${print(visit(document, { Directive: leave, DirectiveDefinition: leave }))}\n`;
}

export const printPlain = (schema: GraphQLSchema): string => printWithout(/^(?:key|link|shareable)$/, schema);

/**
 * Prints the subgraph. Omits `@defer` and `@stream`, which a router defines itself, and `@oneOf`, which composers do not support. The
 * gateway still rejects an input with several keys.
 */
export const printSubgraph = (schema: GraphQLSchema): string =>
  printWithout(/^(?:defer|stream)$/, schema).replaceAll(/^(input \w+) @oneOf \{$/gm, "$1 {");
