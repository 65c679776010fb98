import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  type jsonSchemaValidator,
  type McpServer,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import { type ExecutionResult, type GraphQLSchema, printType } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { InputError } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import { isObject } from "../../rest/api/record.ts";
import { checkParams, jsonOf } from "../graphql/encoding.ts";
import { textSignsIn, type ToolOperation, type ToolType } from "./documents.ts";

/** Runs an operation of the caller. `type` is the only one that is run. */
export type RunOperation = (params: OperationParams, type: ToolType) => Promise<CallToolResult>;

export interface Tool {
  readonly name: string;
  /** Registers it with the server of one request. */
  readonly register: (server: McpServer, execute: RunOperation) => void;
}

type Input = Readonly<Record<string, unknown>>;

interface ToolConfig {
  readonly type: ToolType;
  readonly description: string;
  readonly inputSchema: JsonSchemaType;
  readonly call: (input: Input, execute: RunOperation) => Promise<CallToolResult> | CallToolResult;
}

function tool(name: string, { type, description, inputSchema, call }: ToolConfig): Tool {
  const config = {
    description,
    inputSchema: fromJsonSchema<Input>(inputSchema, ARGUMENT_NAMES),
    annotations: ANNOTATIONS[type],
  };
  return {
    name,
    register: (server, execute) =>
      void server.registerTool(name, config, (input: Input) => call(input, execute)),
  };
}

/** Clients ask their user before a tool that may destroy. `openWorldHint`: whether it reaches beyond the service. */
const ANNOTATIONS: Readonly<Record<ToolType, ToolAnnotations>> = {
  query: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  mutation: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
};

/** Rejects unknown arguments, which GraphQL would ignore. GraphQL checks the others, with the gateway's errors. */
export const ARGUMENT_NAMES: jsonSchemaValidator = {
  getValidator:
    <Data>({ properties = {}, required = [] }: JsonSchemaType) =>
    (input: unknown) => {
      const known = Object.keys(properties);
      const unknown = Object.keys(input ?? {}).find((name) => !known.includes(name));
      if (unknown === undefined) {
        const data = withoutNulls(input ?? {}, properties, (name) => !required.includes(name));
        // The protocol's own schema lets only objects pass as arguments.
        return { valid: true, data: data as Data, errorMessage: undefined };
      }
      const expected = known.length === 0 ? "none" : `only ${known.join(", ")}`;
      return { valid: false, data: undefined, errorMessage: `expected ${expected}, got ${quote(unknown)}` };
    },
};

/** Models send null for what they do not give. Within an argument it may clear something: there only what has a default is left out. */
function withoutNulls(
  given: object,
  properties: NonNullable<JsonSchemaType["properties"]>,
  isOptional: (name: string) => boolean,
): object {
  const entries = Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
    if (value === null && isOptional(name)) return [];
    const { properties: inner } = Object(properties[name]) as JsonSchemaType;
    if (!inner || !isObject(value)) return [[name, value]];
    return [[name, withoutNulls(value, inner, (each) => "default" in Object(inner[each]))]];
  });
  return Object.fromEntries(entries);
}

/** The tool of an operation. Its arguments are the variables. */
export const toolOfOperation = ({ name, type, description, inputSchema, params }: ToolOperation): Tool =>
  tool(name, {
    type,
    description,
    inputSchema: { ...inputSchema },
    call: (variables, execute) => execute({ ...params, variables }, type),
  });

const OWN_OPERATION = {
  type: "object",
  properties: {
    query: { type: "string", description: "A GraphQL document with one operation." },
    variables: { type: "object", description: "Values of its variables." },
  },
  required: ["query"],
  additionalProperties: false,
};

const DESCRIPTIONS: Readonly<Record<ToolType, string>> = {
  query: "Runs a GraphQL query. Select only what is needed.",
  mutation:
    "Runs a GraphQL mutation, which changes or deletes records. An error with `outcome: unknown` says that the change may have been made: read before it is repeated.",
};

/** Where the schema is shown. */
const FIRST_STEP: Readonly<Record<ToolType, string>> = {
  query: " Look at the types in question with graphql_schema first.",
  mutation: " Look at the type Mutation with graphql_schema first.",
};

/** The tool that runs a document of the agent's own. `hasSchema`: beside it is the tool that shows the schema. */
export const toolOfOwnDocuments = (type: ToolType, hasSchema: boolean, maxTokens: number): Tool =>
  tool(`graphql_${type}`, {
    type,
    description: DESCRIPTIONS[type] + (hasSchema ? FIRST_STEP[type] : ""),
    inputSchema: OWN_OPERATION,
    call: (input, execute) => {
      const params = checkParams(input);
      return textSignsIn(params.query ?? "", maxTokens) ? NO_SIGN_IN : execute(params, type);
    },
  });

const NO_SIGN_IN: CallToolResult = {
  content: [
    {
      type: "text",
      text: "Expected an operation without `login`: a password is not for an agent. The client sends the user's token with each call.",
    },
  ],
  isError: true,
};

const TYPE_NAMES = {
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

/** The tool that shows parts of the schema: many clients do not show resources to their agents. */
export const toolOfSchema = (schema: GraphQLSchema): Tool =>
  tool("graphql_schema", {
    type: "query",
    description:
      "Shows types of the GraphQL schema, with descriptions. Begin with the type Query, and go on with the types that its fields return.",
    inputSchema: TYPE_NAMES,
    call: ({ types = "Query" }) => ({
      content: [{ type: "text", text: definitionsOf(schema, [types].flat()) }],
    }),
  });

/** The definitions of some types, each once. Throws `InputError` for names that the schema does not have. */
const definitionsOf = (schema: GraphQLSchema, names: readonly unknown[]): string =>
  [...new Set(names)]
    .map((name) => {
      const type = schema.getType(String(name));
      if (type) return printType(type);
      throw new InputError(
        `types: expected names of types of the schema, such as Query, got ${quote(String(name))}`,
      );
    })
    .join("\n\n");

/** The result as structured content, and as text for clients that do not read it. */
export function toToolResult(result: ExecutionResult): CallToolResult {
  const structuredContent = jsonOf(result);
  return {
    content: [{ type: "text", text: JSON.stringify(structuredContent) }],
    structuredContent,
    isError: result.errors !== undefined,
  };
}
