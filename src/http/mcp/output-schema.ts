import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getNullableType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { SCALARS as INPUT_SCALARS } from "./input-schema.ts";

/** The JSON Schema of a value. Without `type` any value is possible, as for custom scalars. */
interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly items?: ValueSchema;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** The JSON Schema of a tool's result. */
export interface OutputSchema extends ValueSchema {
  readonly type: "object";
}

const SCALARS: Readonly<Record<string, string>> = { ...INPUT_SCALARS, DateTime: "string" };

const TEXT: ValueSchema = { type: "string" };

const ERRORS: ValueSchema = {
  type: "array",
  items: {
    type: "object",
    properties: {
      message: TEXT,
      path: { type: "array" },
      extensions: { type: "object", properties: { code: TEXT } },
    },
  },
};

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The selected fields of an object by their keys in the result, those of fragments among them. */
function fieldsIn(sets: readonly SelectionSetNode[], fragments: Fragments): Map<string, FieldNode[]> {
  const found = new Map<string, FieldNode[]>();
  const look = (set: SelectionSetNode): void => {
    for (const each of set.selections) {
      if (each.kind === Kind.INLINE_FRAGMENT) look(each.selectionSet);
      else if (each.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(each.name.value);
        if (fragment) look(fragment.selectionSet);
      } else {
        const key = (each.alias ?? each.name).value;
        found.set(key, [...(found.get(key) ?? []), each]);
      }
    }
  };
  for (const set of sets) look(set);
  return found;
}

/** The JSON Schema of what operations of a schema return. */
export function createOutputSchemas(schema: GraphQLSchema) {
  /** The type of a field of this type, or of one of those that have it in a fragment. */
  const typeOf = (parent: GraphQLOutputType, name: string): GraphQLOutputType | null => {
    const named = getNamedType(parent);
    const own = isObjectType(named) || isInterfaceType(named) ? named.getFields()[name] : undefined;
    if (own) return own.type;
    const possible = isInterfaceType(named) ? schema.getPossibleTypes(named) : [];
    return possible.flatMap((type) => type.getFields()[name]?.type ?? [])[0] ?? null;
  };

  const propertiesOf = (
    parent: GraphQLOutputType,
    sets: readonly SelectionSetNode[],
    fragments: Fragments,
  ): Record<string, ValueSchema> =>
    Object.fromEntries(
      [...fieldsIn(sets, fragments)].map(([key, nodes]) => {
        const name = nodes[0]?.name.value ?? "";
        if (name === "__typename") return [key, TEXT];
        const type = typeOf(parent, name);
        const inner = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
        return [key, type ? valueOf(type, inner, fragments) : {}];
      }),
    );

  const valueOf = (
    type: GraphQLOutputType,
    sets: readonly SelectionSetNode[],
    fragments: Fragments,
  ): ValueSchema => {
    const present = getNullableType(type);
    const ofType = (name: string) => (isNonNullType(type) ? name : [name, "null"]);
    if (isListType(present))
      return { type: ofType("array"), items: valueOf(present.ofType as GraphQLOutputType, sets, fragments) };
    if (!isLeafType(present))
      return { type: ofType("object"), properties: propertiesOf(present, sets, fragments) };
    const known = "getValues" in present ? "string" : SCALARS[present.name];
    return known ? { type: ofType(known) } : {};
  };

  return (document: DocumentNode, { operation, selectionSet }: OperationDefinitionNode): OutputSchema => {
    const fragments = new Map(
      document.definitions.flatMap((each) =>
        each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [],
      ),
    );
    const root = schema.getRootType(operation);
    const properties = root ? propertiesOf(root, [selectionSet], fragments) : {};
    return {
      type: "object",
      properties: { data: { type: ["object", "null"], properties }, errors: ERRORS },
    };
  };
}
