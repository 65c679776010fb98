import type { CallToolResult, Tool as Definition, ToolAnnotations } from "@modelcontextprotocol/server";
import { type ExecutionResult, type GraphQLSchema, printType } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { InputError } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import { isObject } from "../../rest/api/record.ts";
import { jsonOf } from "../graphql/encoding.ts";
import type { InputSchema } from "./input-schema.ts";

/** The types of operations that a tool can run: a tool has one result. */
export type ToolType = "query" | "mutation";

/** Runs an operation of the caller. `type` is the only one that is run. */
export type RunOperation = (params: OperationParams, type: ToolType) => Promise<CallToolResult>;

type Input = Readonly<Record<string, unknown>>;

export interface Tool {
  /** As agents see it. */
  readonly definition: Omit<Definition, "inputSchema"> & { readonly inputSchema: InputSchema };
  readonly call: (input: Input, execute: RunOperation) => Promise<CallToolResult> | CallToolResult;
}

/** Clients ask their user before a tool that may destroy. `openWorldHint`: whether it reaches beyond the service. */
const ANNOTATIONS: Readonly<Record<ToolType, ToolAnnotations>> = {
  query: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  mutation: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
};

export const toolOf = (
  definition: Omit<Tool["definition"], "annotations">,
  type: ToolType,
  call: Tool["call"],
): Tool => ({ definition: { ...definition, annotations: ANNOTATIONS[type] }, call });

/**
 * Calls a tool. Rejects unknown arguments, which GraphQL would ignore; it checks the others, with the gateway's errors. What is
 * wrong is a result, for the agent to read.
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
  if (unknown !== undefined) return failed(`expected ${expected}, got ${quote(unknown)}`);
  try {
    return await call(
      withoutNulls(given, properties, (name) => !required.includes(name)),
      execute,
    );
  } catch (error) {
    if (error instanceof Error) return failed(error.message);
    throw error;
  }
}

export const failed = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
});

/** Models send null for what they do not give. Within an argument it may clear something: there only what has a default is left out. */
function withoutNulls(
  given: Input,
  properties: InputSchema["properties"],
  isOptional: (name: string) => boolean,
): Input {
  const entries = Object.entries(given).flatMap(([name, value]) => {
    if (value === null && isOptional(name)) return [];
    const { properties: inner } = properties[name] ?? {};
    if (!inner || !isObject(value)) return [[name, value]];
    return [[name, withoutNulls(value, inner, (each) => "default" in (inner[each] ?? {}))]];
  });
  return Object.fromEntries(entries);
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

/** The tool that shows parts of the schema: many clients do not show resources to their agents. */
export const toolOfSchema = (schema: GraphQLSchema): Tool => {
  const name = "graphql_schema";
  const description =
    "Shows types of the GraphQL schema, with descriptions. Begin with the type Query, and go on with the types that its fields return.";
  return toolOf({ name, description, inputSchema: TYPE_NAMES }, "query", ({ types = "Query" }) => ({
    content: [{ type: "text", text: definitionsOf(schema, [types].flat()) }],
  }));
};

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
