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
 * The schema as an Apollo Federation subgraph. Other subgraphs refer to resources by global id or by name. A representation is resolved to
 * a resource like any other, so selecting only what its key contains causes no upstream request. Pothos' federation plugin is not used,
 * because it fails all representations if one is unknown, and needs Apollo's printer, whose license is not permissive.
 */

type Representation = { readonly __typename?: unknown } & Readonly<Record<string, unknown>>;

/** The key fields of a type. Each has the function that resolves its value to a resource and throws `InputError` for an invalid value. */
type Keys = Readonly<Record<string, (text: string) => Resource>>;

const ENTITIES: readonly (readonly [type: string, keys: Keys])[] = [
  ...Object.values(resourceRefs).map(({ name, kind }) => [name, keysOf(kind)] as const),
  // An entity interface: another subgraph can add fields to runs of all kinds by `type Run @interfaceObject`.
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
  throw new InputError(`expected a string in ${either(Object.keys(keys))}, got none`);
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
    // A router assigns each error to a representation by its path.
    extensions: { itemsOf: "representations", errorsStaySeparate: true } satisfies FieldExtensions,
    resolve: unserved,
  }),
  _service: t.field({ type: Service, nullable: false, resolve: unserved }),
}));

/** Version 2.3 is the first one with keys on interfaces. */
const LINK = { url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"] };

/** The directive for fields that are null only with an error, from the draft https://specs.apollo.dev/nullability/v0.4. */
const NULLABILITY = buildSchema(
  '"Null only together with an error. `levels`: 0 is the field, 1 the items of its list." directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION',
);

/** Matches fields that are null only with an error, written as `Type.field: Result`. */
const NULL_WITH_ERROR =
  /^(?:Query|Mutation|\w+Payload)\..*[^!]$|: \w+Connection$|^Experiment\.metricS|\.summary:|^ExperimentSummary\..*]$|^(?:ExperimentJob|MetricRecord)\.experiment:|\.subject:/;

/** Matches list fields whose items are null only with an error. */
const ITEMS_NULL_WITH_ERROR = /\.entities: /;

/** Builds the schema. The directives of federation and nullability are in `extensions`, from which the SDL is printed. */
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

/** Adds the resolvers of `_service` and `_entities`. They use the final schema, because types may have been renamed. */
export function serveSubgraph(schema: GraphQLSchema): GraphQLSchema {
  const { _service: service, _entities: entities } = schema.getQueryType()?.getFields() ?? {};
  if (!service || !entities) throw new TypeError("expected the schema of a subgraph");
  let sdl: string | null = null;
  service.resolve = () => ({ sdl: (sdl ??= printSubgraph(schema)) });
  let shown: GraphQLSchema | null = null;
  // Tools that introspect the gateway do not support federation's own types.
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

/** The schema for clients, without the types and fields for routers. */
export const withoutFederation = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.TYPE]: (type) => (isFederations(type.name) ? null : undefined),
    [MapperKind.QUERY_ROOT_FIELD]: (_, name) => (isFederations(name) ? null : undefined),
  });

/** Prints the SDL with directives on fields and types, except directives whose name matches `left`. */
function printWithout(left: RegExp, schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(lexicographicSortSchema(withoutFederation(schema)));
  const leave = ({ name }: { readonly name: { readonly value: string } }) =>
    left.test(name.value) ? null : undefined;
  return `${print(visit(document, { Directive: leave, DirectiveDefinition: leave }))}\n`;
}

export const printPlain = (schema: GraphQLSchema): string => printWithout(/^(?:key|link|shareable)$/, schema);

/**
 * Prints the SDL of the subgraph. Omits `@defer` and `@stream`, which a router defines itself, and `@oneOf`, which composers do not
 * support. The gateway enforces `@oneOf` nevertheless.
 */
export const printSubgraph = (schema: GraphQLSchema): string =>
  printWithout(/^(?:defer|stream)$/, schema).replaceAll(/^(input \w+) @oneOf \{$/gm, "$1 {");
