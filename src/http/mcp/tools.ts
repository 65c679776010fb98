import type { CallToolResult, Tool as Definition, ToolAnnotations } from "@modelcontextprotocol/server";
import {
  type DocumentNode,
  type ExecutionResult,
  getOperationAST,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  printType,
  separateOperations,
  visit,
} from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { shouldYield } from "../../engine/scheduler.ts";
import { yieldToEventLoop } from "../../util/event-loop.ts";
import { InputError, tryTo } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import { isObject } from "../../rest/api/record.ts";
import { jsonOf, toJson } from "../graphql/encoding.ts";
import { checkParams } from "../graphql/request-params.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { commentOf, shippedOperations, withoutSentences } from "../bundled-operations.ts";
import { withToolArgument } from "./argument-names.ts";
import {
  firstSentence,
  type InputSchema,
  inputSchemaOf,
  isJsonString,
  jsonString,
  type ValueSchema,
} from "./input-schema.ts";

/** The types of operations that a tool can execute. A tool call has a single result, so subscriptions are impossible. */
export type ToolType = "query" | "mutation";

/**
 * Executes an operation of the caller. Rejects operations whose type is not `type`. If `document` is that of the tool, errors name the
 * arguments of the tool.
 */
export type RunOperation = (
  params: OperationParams,
  type: ToolType,
  document?: DocumentNode,
) => Promise<CallToolResult>;

type Input = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly definition: Omit<Definition, "inputSchema"> & { readonly inputSchema: InputSchema };
  readonly call: (input: Input, execute: RunOperation) => Promise<CallToolResult> | CallToolResult;
}

/**
 * Annotations of tools, by type. Clients ask for confirmation before they call a destructive tool. `openWorldHint`: whether a tool reaches
 * other services.
 */
const ANNOTATIONS: Readonly<Record<ToolType, ToolAnnotations>> = {
  query: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  mutation: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
};

/**
 * Calls a tool. Rejects unknown arguments, which GraphQL would ignore. GraphQL checks the other arguments. Errors are returned as a result,
 * so that the agent reads them.
 */
export async function callTool(
  { definition: { inputSchema }, call }: Tool,
  given: Input,
  execute: RunOperation,
): Promise<CallToolResult> {
  const { properties, required = [] } = inputSchema;
  const known = Object.keys(properties);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  const expected = known.length === 0 ? "none" : `only ${known.join(", ")}`;
  if (unknown !== undefined) return failed(`arguments: expected ${expected}, got ${quote(unknown)}`);
  try {
    const input = withoutNulls(given, properties, (name) => !required.includes(name));
    return await call(input, execute);
  } catch (error) {
    if (error instanceof Error) return failed(error.message);
    throw error;
  }
}

const failed = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true });

/**
 * Removes nulls, because models send null for arguments that they do not set. Within an argument, null may mean that a value is cleared, so
 * null is removed there only for fields with a default.
 */
function withoutNulls(
  given: Input,
  properties: InputSchema["properties"],
  isOptional: (name: string) => boolean,
): Input {
  const entries = Object.entries(given).flatMap(([name, value]) => {
    if (value === null && isOptional(name)) return [];
    return [[name, valueFor(properties[name], value)]];
  });
  return Object.fromEntries(entries);
}

/** Converts a value as its schema requires: parses strings that contain JSON. If the JSON is invalid, GraphQL reports the error. */
function valueFor(schema: ValueSchema | undefined, given: unknown): unknown {
  if (!schema) return given;
  const { items, properties } = schema;
  if (isJsonString(schema) && typeof given === "string") {
    const value = tryTo(() => JSON.parse(given) as unknown);
    return value === undefined ? given : value;
  }
  if (items && Array.isArray(given)) return given.map((each) => valueFor(items, each));
  if (!properties || !isObject(given)) return given;
  return withoutNulls(given, properties, (name) => "default" in (properties[name] ?? {}));
}

const TYPE_NAMES: InputSchema = {
  type: "object",
  properties: {
    types: {
      type: "array",
      items: { type: "string" },
      default: ["Query"],
      description: "Names of types, such as Query.",
    },
  },
  additionalProperties: false,
};

/** The tool that shows parts of the schema. The schema is also a resource, but many clients do not show resources to their agents. */
export const toolOfSchema = (schema: GraphQLSchema): Tool => {
  const name = "graphql_schema";
  const description =
    "Shows types of the GraphQL schema, with descriptions. Begin with the type Query, and go on with the types that its fields return.";
  return {
    definition: { name, description, inputSchema: TYPE_NAMES, annotations: ANNOTATIONS.query },
    call: ({ types = "Query" }) => ({
      content: [{ type: "text", text: definitionsOf(schema, [types].flat().map(String)) }],
    }),
  };
};

/** The definitions of some types, each once. Throws `InputError` for names that the schema does not have. */
const definitionsOf = (schema: GraphQLSchema, names: readonly string[]): string =>
  [...new Set(names)]
    .map((name) => {
      const type = schema.getType(name);
      if (type) return printType(type);
      throw new InputError(`types: expected names of types of the schema, such as Query, got ${quote(name)}`);
    })
    .join("\n\n");

/** Converts a result to structured content, and to text for clients that do not read structured content. */
export function toToolResult(result: ExecutionResult, document?: DocumentNode): CallToolResult {
  const { errors } = result;
  const structuredContent = {
    ...jsonOf(result),
    ...(errors && document && { errors: errors.map((error) => withToolArgument(toJson(error), document)) }),
  };
  return {
    content: [{ type: "text", text: JSON.stringify(structuredContent) }],
    structuredContent,
    isError: result.errors !== undefined,
  };
}

/**
 * Creates a tool for each operation of the trusted documents, or of the bundled operations. Skips operations of other types, operations
 * without a name or with a name that hosts reject, documents that cannot be parsed, and the sign-in, because an agent should not have a
 * password. Also skips bundled operations that are examples for people.
 */
export async function readTools(
  { schema, rename, config: { TRUSTED_DOCUMENTS: trusted } }: GatewayDependencies,
  types: readonly ToolType[],
): Promise<Tool[]> {
  /** The source of each document, and the parameters of a request for it. */
  const texts: (readonly [string, OperationParams])[] = trusted
    ? [...trusted].map(([documentId, text]) => [text, { documentId }])
    : shippedOperations(rename).map(({ text }) => [text, { query: text }]);
  const tools: Tool[] = [];
  for (const [text, params] of texts) {
    const document = parsed(text);
    for (const own of document ? Object.values(separateOperations(document)) : []) {
      const node = getOperationAST(own);
      const type = types.find((each) => each === node?.operation);
      if (!node?.name || node.name.value.length > MAX_TOOL_NAME_LENGTH) continue;
      if (!type || signsIn(own) || (!trusted && isForPeople(node))) continue;
      const inputSchema = inputSchemaOf(schema, own, node);
      if (!inputSchema) continue;
      const { value: name } = node.name;
      const described = node.description?.value ?? (commentOf(node) || describeFields(schema, node));
      const description = withoutSentences(described, COSTS) || described;
      tools.push({
        definition: { name, description, inputSchema, annotations: ANNOTATIONS[type] },
        call: (variables, execute) => execute({ ...params, operationName: name, variables }, type, own),
      });
    }
    if (shouldYield()) await yieldToEventLoop();
  }
  return tools;
}

/** Maximum length of the name of a tool that OpenAI, Gemini and Claude accept. */
const MAX_TOOL_NAME_LENGTH = 64;

/**
 * Whether an operation is an example for people. `TwoExperiments` demonstrates aliases. Agents compare any number of runs with
 * `CompareExperiments`.
 */
const isForPeople = (node: OperationDefinitionNode): boolean =>
  node.name?.value === "TwoExperiments" || (node.operation === "mutation" && rootFieldsOf(node).length > 1);

/** Whether `login` is selected, at the root or in a fragment. Only `Mutation` has a field of this name. */
function signsIn(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    Field: ({ name }) => {
      found ||= name.value === "login";
    },
  });
  return found;
}

/** Parses a document; undefined if it is invalid. */
const parsed = (text: string, maxTokens = Number.POSITIVE_INFINITY): DocumentNode | undefined =>
  tryTo(() => parse(text, { maxTokens }));

/** The names of the root fields, except those in fragments. */
const rootFieldsOf = ({ selectionSet }: OperationDefinitionNode): string[] =>
  selectionSet.selections.flatMap((each) => (each.kind === Kind.FIELD ? each.name.value : []));

/** Matches sentences of descriptions about costs, which do not help to choose a tool. */
const COSTS = /\bupstream requests?\b/;

/** Describes an operation by its root fields, because the documents in generated manifests have no comments. */
function describeFields(schema: GraphQLSchema, node: OperationDefinitionNode): string {
  const fields = schema.getRootType(node.operation)?.getFields();
  return [...new Set(rootFieldsOf(node))]
    .map((name) => `${name}: ${firstSentence(fields?.[name]?.description ?? "")}`.trim())
    .join("\n");
}

const OWN_OPERATION: InputSchema = {
  type: "object",
  properties: {
    query: { type: "string", description: "A GraphQL document with one operation." },
    variables: jsonString('Values of its variables, such as `{"id": "ada.mnist.42"}`.'),
  },
  required: ["query"],
  additionalProperties: false,
};

const DESCRIPTIONS: Readonly<Record<ToolType, string>> = {
  query: "Runs a GraphQL query. Select only what is needed.",
  mutation:
    "Runs a GraphQL mutation, which changes or deletes records. An error with `outcome: unknown` says that the change may have been made: read before it is repeated.",
};

/** The tool that runs a document written by the agent. `hasSchema`: whether the tool that shows the schema exists as well. */
export function toolOfOwnDocuments(type: ToolType, hasSchema: boolean, maxTokens: number): Tool {
  const firstStep = hasSchema ? " Look at the types in question with graphql_schema first." : "";
  const description = DESCRIPTIONS[type] + firstStep;
  const inputSchema = OWN_OPERATION;
  return {
    definition: { name: `graphql_${type}`, description, inputSchema, annotations: ANNOTATIONS[type] },
    call: (input, execute) => {
      if (!input["query"]) throw new InputError("query: expected a GraphQL document, got none");
      if (typeof input["variables"] === "string")
        throw new InputError("variables: expected a JSON object, got a string that is not one");
      const params = checkParams(input);
      // A document that cannot be parsed, or is too long, is executed all the same, because the engine reports the error.
      const document = parsed(params.query ?? "", maxTokens);
      return document && signsIn(document) ? failed(NO_SIGN_IN) : execute(params, type);
    },
  };
}

const NO_SIGN_IN =
  "Expected an operation without `login`: a password is not for an agent. The client sends the user's token with each call.";
