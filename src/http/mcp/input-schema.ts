import {
  type DocumentNode,
  getNamedType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from "graphql";

/**
 * The JSON Schema of a value, limited to the keywords that OpenAI, Gemini and Claude accept even in strict mode, because a host that rejects
 * one tool loses all tools. Each value has a type, and each object names its properties.
 */
export type ValueSchema = {
  description?: string;
  type: string;
  enum?: string[];
  default?: unknown;
  items?: ValueSchema;
  properties?: Record<string, ValueSchema>;
  required?: string[];
  additionalProperties?: false;
};

export type InputSchema = ValueSchema & { type: "object"; properties: Record<string, ValueSchema> };

/** The types of values in JSON, by the names of scalars. */
const SCALARS: Readonly<Record<string, string>> = {
  Int: "integer",
  Float: "number",
  String: "string",
  ID: "string",
  Boolean: "boolean",
  DateTime: "string",
  DateTimeOrDay: "string",
};

/** The schemas of strings that contain JSON. Hosts reject unknown keywords, so no keyword marks them. */
const JSON_STRINGS = new WeakSet<ValueSchema>();

export const isJsonString = (schema: ValueSchema): boolean => JSON_STRINGS.has(schema);

/** The schema of a string that contains JSON. */
export function jsonString(description: string): ValueSchema {
  const schema = { type: "string", description: `${description} As a string of JSON.`.trimStart() };
  JSON_STRINGS.add(schema);
  return schema;
}

function objectOf(
  properties: readonly {
    readonly name: string;
    readonly schema: ValueSchema;
    readonly isRequired: boolean;
  }[],
): InputSchema {
  const required = properties.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties.map(({ name, schema }) => [name, schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The first sentence of a description. Agents read the descriptions of all tools; graphql_schema returns the full description. */
export const firstSentence = (description: string): string => description.split(/(?<=[.?!]) +/, 1).join("");

/** Adds the default of an argument or field, and its description, which is more specific than the description of its type. */
function described(schema: ValueSchema, description: string, fallback?: unknown): ValueSchema {
  const isJson = isJsonString(schema);
  const own = isJson ? jsonString(description) : { ...schema, ...(description && { description }) };
  if (fallback !== undefined) own.default = isJson ? JSON.stringify(fallback) : fallback;
  return own;
}

/**
 * The JSON Schema of a type. It does not allow null: an argument without a value is omitted. The recursion ends, because no input type
 * contains itself.
 */
function schemaOf(type: GraphQLInputType): ValueSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType);
  if (isListType(type)) return { type: "array", items: schemaOf(type.ofType) };
  // An enum has no description, because a filter would repeat the description for each of its lists.
  if (isEnumType(type)) return { type: "string", enum: type.getValues().map(({ name }) => name) };
  if (!isInputObjectType(type)) {
    const known = SCALARS[type.name];
    return known ? { type: known } : jsonString("");
  }
  const fields = Object.values(type.getFields()).map((field) => ({
    name: field.name,
    schema: described(schemaOf(field.type), firstSentence(field.description ?? ""), field.defaultValue),
    isRequired: isRequiredInputField(field),
  }));
  return described(objectOf(fields), firstSentence(type.description ?? ""));
}

/** Describes each variable by the description of the argument or input field for which it is used first. */
function describeVariables(schema: GraphQLSchema, document: DocumentNode): ReadonlyMap<string, string> {
  const descriptions = new Map<string, string>();
  const typeInfo = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(typeInfo, {
      Variable: ({ name: { value: variable } }, _, parent) => {
        const parentNode = parent && "kind" in parent ? parent : null;
        const parentType = getNamedType(typeInfo.getParentInputType());
        const argument =
          parentNode?.kind === Kind.OBJECT_FIELD && isInputObjectType(parentType)
            ? parentType.getFields()[parentNode.name.value]
            : typeInfo.getArgument();
        if (argument?.description && !descriptions.has(variable))
          descriptions.set(variable, firstSentence(argument.description));
      },
    }),
  );
  return descriptions;
}

/** The JSON Schema of an operation's variables; null when the schema has no such input type. */
export function inputSchemaOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
): InputSchema | null {
  const descriptions = describeVariables(schema, document);
  const properties = variableDefinitions.flatMap(({ variable, type: node, defaultValue, description }) => {
    const { value: name } = variable.name;
    const type = typeFromAST(schema, node);
    if (!isInputType(type)) return [];
    const fallback = defaultValue && valueFromASTUntyped(defaultValue);
    const isRequired = isNonNullType(type) && fallback === undefined;
    const text = description?.value ?? descriptions.get(name) ?? "";
    return { name, schema: described(schemaOf(type), text, fallback), isRequired };
  });
  return properties.length === variableDefinitions.length ? objectOf(properties) : null;
}
