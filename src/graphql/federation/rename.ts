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
import { createTypeNames, type Renames, type TypeNames } from "../core/kinds.ts";

interface Described {
  readonly description?: string | null | undefined;
}

/** Renames types and root fields of a schema to their public names, in descriptions as well. */
export function rename(schema: GraphQLSchema, names: TypeNames): GraphQLSchema {
  const fields = rootFieldsOf(schema);
  const inText = (code: string) =>
    code.replaceAll(/\w+/g, (word) =>
      schema.getType(word) ? names.publicName(word) : fields.has(word) ? names.publicField(word) : word,
    );
  const described = <Config extends Described>(config: Config): Config => ({
    ...config,
    // Names are in backquotes. A single lower-case word is a value, not the root field of that name.
    description: config.description?.replaceAll(/`[^`]+`/g, (code) =>
      /^`[^\WA-Z]+`$/.test(code) ? code : inText(code),
    ),
  });
  const named = <Config extends Described & { readonly name: string }>(config: Config): Config => ({
    ...described(config),
    name: isRenamable(config.name) ? names.publicName(config.name) : config.name,
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
      isRenamable(name) ? names.publicField(name) : name,
      described(field),
    ],
    [MapperKind.COMPOSITE_FIELD]: described,
    [MapperKind.ENUM_VALUE]: described,
  });
}

/** Whether a name does not belong to federation itself, as `_Any`, `_entities` and `link__Import` do. */
const isRenamable = (name: string) => !name.includes("_");

const rootFieldsOf = (schema: GraphQLSchema): ReadonlySet<string> =>
  new Set(
    [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    ),
  );

/** Maps the result of a type resolver to the public name. Federation's own types have no resolver. */
function typeResolver({ resolveType }: GraphQLAbstractType, names: TypeNames) {
  if (!resolveType) return null;
  const resolver: GraphQLTypeResolver<unknown, unknown> = (...given) => {
    const name = resolveType(...given);
    return typeof name === "string" ? names.publicName(name) : name;
  };
  return resolver;
}

const called = (name: NameNode, value: string): NameNode => ({ ...name, value });

/** Renames what a document of this package names to the public names. Keeps the comment at its beginning. */
export function renameDocument(document: string, names: TypeNames): string {
  if (names.areUnchanged) return document;
  const [comment = ""] = /^(?:#.*\n)*/.exec(document) ?? [];
  const renamed = print(
    visit(parse(document), {
      NamedType: (type) => ({ ...type, name: called(type.name, names.publicName(type.name.value)) }),
      OperationDefinition: (operation) => ({
        ...operation,
        selectionSet: {
          ...operation.selectionSet,
          selections: operation.selectionSet.selections.map((field) =>
            field.kind === Kind.FIELD
              ? { ...field, name: called(field.name, names.publicField(field.name.value)) }
              : field,
          ),
        },
      }),
    }),
  );
  return comment + renamed;
}

/** Checks configured names. The messages do not contain them. */
export function faultsOf(renames: Renames, schema: GraphQLSchema): string[] {
  const names = createTypeNames(renames);
  const all = Object.keys(schema.getTypeMap()).filter(isRenamable);
  const unknown = Object.keys(renames).some((name) => !all.includes(name) || FIXED.has(name));
  const taken = Object.values(renames).some((name) => FIXED.has(name));
  return [
    ...(unknown ? ["expected pairs that begin with types of the schema, such as Node"] : []),
    ...(taken ? ["expected names that GraphQL does not define itself, such as ClusterNode"] : []),
    ...namesakes(all, names.publicName),
    ...namesakes([...rootFieldsOf(schema)], names.publicField),
  ];
}

/** Reserved names: root types, whether or not the schema has them, and built-in scalars. */
const FIXED = new Set(["Query", "Mutation", "Subscription", "ID", "String", "Int", "Float", "Boolean"]);

/** `Entity and Node would have one name` */
function namesakes(names: readonly string[], publicName: (name: string) => string): string[] {
  const bearers = new Map<string, string[]>();
  for (const name of names) bearers.set(publicName(name), [...(bearers.get(publicName(name)) ?? []), name]);
  return [...bearers.values()]
    .filter(({ length }) => length > 1)
    .map((bearer) => `${bearer.join(" and ")} would have one name`);
}
