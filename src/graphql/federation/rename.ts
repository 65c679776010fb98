import { MapperKind, mapSchema } from "@graphql-tools/utils";
import {
  type GraphQLAbstractType,
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLInterfaceType,
  GraphQLObjectType,
  GraphQLScalarType,
  type GraphQLSchema,
  type GraphQLTypeResolver,
  GraphQLUnionType,
  Kind,
  type NameNode,
  parse,
  print,
  visit,
} from "graphql";
import { createTypeNames, type Renames, type TypeNames } from "../core/type-names.ts";

interface Described {
  readonly description?: string | null | undefined;
}

/** Renames types and root fields of a schema to their served names, in descriptions as well. */
export function rename(schema: GraphQLSchema, names: TypeNames): GraphQLSchema {
  const fields = rootFieldsOf(schema);
  const inText = (code: string) =>
    code.replaceAll(/\w+/g, (word) =>
      schema.getType(word) ? names.served(word) : fields.has(word) ? names.servedField(word) : word,
    );
  const described = <Config extends Described>(config: Config): Config => ({
    ...config,
    // Names are in backquotes. A single lower-case word is a value, not the root field of that name.
    description: config.description?.replaceAll(/`(?!\w+`)[^`]+`|`\w*[A-Z]\w*`/g, inText),
  });
  const named = <Config extends Described & { readonly name: string }>(config: Config): Config => ({
    ...described(config),
    name: isOurs(config.name) ? names.served(config.name) : config.name,
  });
  return mapSchema(schema, {
    [MapperKind.SCALAR_TYPE]: (type) => new GraphQLScalarType(named(type.toConfig())),
    [MapperKind.ENUM_TYPE]: (type) => new GraphQLEnumType(named(type.toConfig())),
    [MapperKind.INPUT_OBJECT_TYPE]: (type) => new GraphQLInputObjectType(named(type.toConfig())),
    [MapperKind.OBJECT_TYPE]: (type) => new GraphQLObjectType(named(type.toConfig())),
    [MapperKind.INTERFACE_TYPE]: (type) =>
      new GraphQLInterfaceType({ ...named(type.toConfig()), resolveType: typeResolver(type, names) }),
    [MapperKind.UNION_TYPE]: (type) =>
      new GraphQLUnionType({ ...named(type.toConfig()), resolveType: typeResolver(type, names) }),
    [MapperKind.ROOT_FIELD]: (field, name) => [
      isOurs(name) ? names.servedField(name) : name,
      described(field),
    ],
    [MapperKind.COMPOSITE_FIELD]: described,
    [MapperKind.ENUM_VALUE]: described,
  });
}

/** Whether a name belongs to federation itself, such as `_Any`, `_entities` or `link__Import`. */
const isOurs = (name: string) => !name.includes("_");

const rootFieldsOf = (schema: GraphQLSchema): ReadonlySet<string> =>
  new Set(
    [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    ),
  );

/** Maps a type resolver's result, one of our names, to the served name. Federation's own types have no resolver. */
function typeResolver({ resolveType }: GraphQLAbstractType, names: TypeNames) {
  if (!resolveType) return null;
  const resolver: GraphQLTypeResolver<unknown, unknown> = (...given) => {
    const name = resolveType(...given);
    return typeof name === "string" ? names.served(name) : name;
  };
  return resolver;
}

const called = (name: NameNode, value: string): NameNode => ({ ...name, value });

/** Renames a document that uses our own names to the served ones. Keeps the comment at its beginning. */
export function renameDocument(document: string, names: TypeNames): string {
  if (names.areOurs) return document;
  const [comment = ""] = /^(?:#.*\n)*/.exec(document) ?? [];
  const renamed = print(
    visit(parse(document), {
      NamedType: (type) => ({ ...type, name: called(type.name, names.served(type.name.value)) }),
      OperationDefinition: (operation) => ({
        ...operation,
        selectionSet: {
          ...operation.selectionSet,
          selections: operation.selectionSet.selections.map((field) =>
            field.kind === Kind.FIELD
              ? { ...field, name: called(field.name, names.servedField(field.name.value)) }
              : field,
          ),
        },
      }),
    }),
  );
  return comment + renamed;
}

/** Checks configured names. The messages contain only our own names, not the configured ones. */
export function faultsOf(renames: Renames, schema: GraphQLSchema): string[] {
  const names = createTypeNames(renames);
  const ours = Object.keys(schema.getTypeMap()).filter(isOurs);
  const unknown = Object.keys(renames).some((name) => !ours.includes(name) || FIXED.has(name));
  const taken = Object.values(renames).some((name) => FIXED.has(name));
  return [
    ...(unknown ? ["expected pairs that begin with types of the schema, such as Node"] : []),
    ...(taken ? ["expected names that GraphQL does not define itself, such as ClusterNode"] : []),
    ...namesakes(ours, names.served),
    ...namesakes([...rootFieldsOf(schema)], names.servedField),
  ];
}

/** Reserved names: root types, whether or not the schema has them, and built-in scalars. */
const FIXED = new Set(["Query", "Mutation", "Subscription", "ID", "String", "Int", "Float", "Boolean"]);

/** `Entity and Node would have one name` */
function namesakes(ours: readonly string[], served: (name: string) => string): string[] {
  const bearers = new Map<string, string[]>();
  for (const name of ours) bearers.set(served(name), [...(bearers.get(served(name)) ?? []), name]);
  return [...bearers.values()]
    .filter(({ length }) => length > 1)
    .map((bearer) => `${bearer.join(" and ")} would have one name`);
}
