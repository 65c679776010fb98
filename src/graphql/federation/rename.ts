import { getDocumentNodeFromSchema, MapperKind, mapSchema } from "@graphql-tools/utils";
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
  isTypeDefinitionNode,
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

/** The schema with its types and root fields under their served names, in descriptions too. */
export function rename(schema: GraphQLSchema, names: TypeNames): GraphQLSchema {
  const fields = rootFieldsOf(schema);
  const inText = (code: string) =>
    code.replaceAll(/\w+/g, (word) =>
      schema.getType(word) ? names.served(word) : fields.has(word) ? names.servedField(word) : word,
    );
  const described = <Config extends Described>(config: Config): Config => ({
    ...config,
    astNode: null,
    // Names stand in back quotes; a lone small word there is a value, not the root field of that name.
    description: config.description?.replaceAll(/`(?!\w+`)[^`]+`|`\w*[A-Z]\w*`/g, inText),
  });
  const named = <Config extends Described & { readonly name: string }>(config: Config): Config => ({
    ...described(config),
    name: isOurs(config.name) ? names.served(config.name) : config.name,
  });
  return withSyntax(
    mapSchema(schema, {
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
    }),
  );
}

/** Gives the types their syntax nodes anew: the printer of subgraphs reads names and directives there. */
function withSyntax(schema: GraphQLSchema): GraphQLSchema {
  for (const node of getDocumentNodeFromSchema(schema).definitions) {
    const type = isTypeDefinitionNode(node) ? schema.getType(node.name.value) : null;
    // The node was made from this very type: its kind fits.
    if (type) type.astNode = node as never;
  }
  return schema;
}

/** Types and fields of federation itself are called `_Any`, `_entities`, `link__Import`. */
const isOurs = (name: string) => !name.includes("_");

const rootFieldsOf = (schema: GraphQLSchema): ReadonlySet<string> =>
  new Set(
    [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type?.getFields() ?? {})),
  );

/** Values are told apart by our names. The types of federation have no resolver: their values carry the served name. */
function typeResolver({ resolveType }: GraphQLAbstractType, names: TypeNames) {
  if (!resolveType) return null;
  const resolver: GraphQLTypeResolver<unknown, unknown> = (...given) => {
    const name = resolveType(...given);
    return typeof name === "string" ? names.served(name) : name;
  };
  return resolver;
}

const called = (name: NameNode, value: string): NameNode => ({ ...name, value });

/** A document that was written against our own schema, in served names. */
export function renameDocument(document: string, names: TypeNames): string {
  if (names.areOurs) return document;
  return print(
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
}

/** What speaks against these names, in sentences that tell ours only: what was given stays untold. */
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

/** Names of root types, whether the schema has them or not, and of the scalars of the language. */
const FIXED = new Set(["Query", "Mutation", "Subscription", "ID", "String", "Int", "Float", "Boolean"]);

/** `Entity and Node would have one name` */
function namesakes(ours: readonly string[], served: (name: string) => string): string[] {
  const bearers = new Map<string, string[]>();
  for (const name of ours) bearers.set(served(name), [...(bearers.get(served(name)) ?? []), name]);
  return [...bearers.values()]
    .filter(({ length }) => length > 1)
    .map((bearer) => `${bearer.join(" and ")} would have one name`);
}
