import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  type jsonSchemaValidator,
  type McpServer,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import { type ExecutionResult, type GraphQLSchema, printType } from "graphql";
import * as z from "zod";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { InputError } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import { isObject } from "../../rest/api/record.ts";
import { jsonOf } from "../graphql/encoding.ts";
import { textSignsIn, type ToolOperation, type ToolType } from "./documents.ts";

/** Runs an operation of the caller. `type` is the only one that is run. */
export type RunOperation = (params: OperationParams, type: ToolType) => Promise<CallToolResult>;

export interface Tool {
  readonly name: string;
  /** Registers it with the server of one request. */
  readonly register: (server: McpServer, execute: RunOperation) => void;
}

interface ToolConfig<Input> {
  readonly description: string;
  readonly inputSchema: StandardSchemaWithJSON<unknown, Input>;
  readonly annotations: ToolAnnotations;
}

const tool = <Input>(
  name: string,
  config: ToolConfig<Input>,
  call: (input: Input, execute: RunOperation) => Promise<CallToolResult> | CallToolResult,
): Tool => ({
  name,
  register: (server, execute) =>
    void server.registerTool(name, { title: titleOf(name), ...config }, (input: Input) =>
      call(input, execute),
    ),
});

/** What people read instead of a name: `Best runs` for `BestRuns`, `Graphql query` for `graphql_query`. */
function titleOf(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, " ")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Clients ask their user before a tool that may destroy. `openWorldHint`: whether it reaches beyond the service. */
const ANNOTATIONS: Readonly<Record<ToolType, ToolAnnotations>> = {
  query: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  mutation: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
};

/** Rejects unknown arguments, which GraphQL would ignore. GraphQL checks the others, with the gateway's errors. */
export const ARGUMENT_NAMES: jsonSchemaValidator = {
  getValidator:
    <Input>({ properties = {}, required = [] }: JsonSchemaType) =>
    (input: unknown) => {
      const known = Object.keys(properties);
      const unknown = Object.keys(input ?? {}).find((name) => !known.includes(name));
      if (unknown === undefined) {
        const data = withoutNulls(input ?? {}, properties, (name) => !required.includes(name));
        // The protocol's own schema lets only objects pass as arguments.
        return { valid: true, data: data as Input, errorMessage: undefined };
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

type Variables = Readonly<Record<string, unknown>>;

/** The tool of an operation. Its arguments are the variables. */
export const toolOfOperation = ({ name, type, description, inputSchema, params }: ToolOperation): Tool =>
  tool(
    name,
    {
      description,
      inputSchema: fromJsonSchema<Variables>({ ...inputSchema }, ARGUMENT_NAMES),
      annotations: ANNOTATIONS[type],
    },
    (variables, execute) => execute({ ...params, variables }, type),
  );

/** Null counts as not given. */
const optional = <Given extends z.ZodType>(schema: Given) =>
  z.preprocess((value) => value ?? undefined, schema);

const OwnOperation = z.strictObject({
  query: z.string().describe("A GraphQL document with one operation."),
  variables: optional(z.record(z.string(), z.unknown()).optional().describe("Values of its variables.")),
});

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
  tool(
    `graphql_${type}`,
    {
      description: DESCRIPTIONS[type] + (hasSchema ? FIRST_STEP[type] : ""),
      inputSchema: OwnOperation,
      annotations: ANNOTATIONS[type],
    },
    (params, execute) => (textSignsIn(params.query, maxTokens) ? NO_SIGN_IN : execute(params, type)),
  );

const NO_SIGN_IN: CallToolResult = {
  content: [
    {
      type: "text",
      text: "Expected an operation without `login`: a password is not for an agent. The client sends the user's token with each call.",
    },
  ],
  isError: true,
};

const TypeNames = z.strictObject({
  types: optional(z.array(z.string()).min(1).default(["Query"]).describe("Names of types, such as Query.")),
});

/** The tool that shows parts of the schema: many clients do not show resources to their agents. */
export const toolOfSchema = (schema: GraphQLSchema): Tool =>
  tool(
    "graphql_schema",
    {
      description:
        "Shows types of the GraphQL schema, with descriptions. Begin with the type Query, and go on with the types that its fields return.",
      inputSchema: TypeNames,
      annotations: ANNOTATIONS.query,
    },
    ({ types }) => ({ content: [{ type: "text", text: definitionsOf(schema, types) }] }),
  );

/** The definitions of some types, each once. Throws `InputError` for names that the schema does not have. */
const definitionsOf = (schema: GraphQLSchema, names: readonly string[]): string =>
  [...new Set(names)]
    .map((name) => {
      const type = schema.getType(name);
      if (type) return printType(type);
      throw new InputError(`types: expected names of types of the schema, such as Query, got ${quote(name)}`);
    })
    .join("\n\n");

/** Begins the message of an error that is about the name of a record, or about an argument that takes one. */
const ABOUT_NAMES = /^(?:ids?|project|owner|name)(?:\[\d+\])?: |^Variable "\$(?:ids?|project|owner|name)"/;

/** What helps after an error with a code: a tool, what it does, and the messages it helps with. Default: all of the code. */
const HELPS: Readonly<Record<string, readonly (readonly [tool: string, does: string, when?: RegExp])[]>> = {
  NOT_FOUND: [
    ["FindProjects", "lists projects"],
    ["FindRuns", "lists the runs of one, also by words"],
  ],
  BAD_USER_INPUT: [
    ["FindProjects", "lists the names of projects and groups", ABOUT_NAMES],
    ["FindRuns", "lists the names and ids of runs", ABOUT_NAMES],
    ["graphql_schema", "shows what an argument takes"],
  ],
  CAPABILITY_UNAVAILABLE: [["StartPage", "shows what this server offers"]],
  GRAPHQL_VALIDATION_FAILED: [["graphql_schema", "shows the fields of a type"]],
};

type HasTool = (name: string) => boolean;

/** The sentences that name the tools that help; empty without one. */
function helpFor(errors: NonNullable<ExecutionResult["errors"]>, hasTool: HasTool): string {
  const helps = errors.flatMap(({ message, extensions: { code } }) =>
    (HELPS[String(code)] ?? []).flatMap(([name, does, when]) =>
      hasTool(name) && (when?.test(message) ?? true) ? [`${name} ${does}.`] : [],
    ),
  );
  return [...new Set(helps)].join(" ");
}

/** The result as structured content, and as text for clients that do not read it. */
export function toToolResult(result: ExecutionResult, hasTool: HasTool): CallToolResult {
  const { errors } = result;
  const structuredContent = jsonOf(result);
  const help = errors ? helpFor(errors, hasTool) : "";
  const texts = [JSON.stringify(structuredContent), ...(help === "" ? [] : [help])];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent,
    isError: errors !== undefined,
  };
}
