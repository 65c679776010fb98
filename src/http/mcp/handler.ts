import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createMcpHandler as createModernHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type ExecutionResult, GraphQLError, type GraphQLSchema } from "graphql";
import type { TrustedDocuments } from "../../engine/documents/persisted.ts";
import type { Engine } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import type { TypeNames } from "../../graphql/core/type-names.ts";
import type { Delivery } from "../delivery.ts";
import { parseObject } from "../graphql/params.ts";
import type { HttpOperation } from "../operation.ts";
import type { RequestState } from "../request.ts";
import { readToolOperations, type ToolType } from "./documents.ts";
import { JSON_RPC_CODES, jsonRpcError } from "./json-rpc.ts";
import { printForAgents } from "./sdl.ts";
import {
  ARGUMENT_NAMES,
  type Execute,
  type Tool,
  toolOfOperation,
  toolOfOwnDocuments,
  toolOfSchema,
} from "./tools.ts";

export interface McpSettings {
  readonly schema: GraphQLSchema;
  readonly engine: Engine;
  readonly delivery: Delivery;
  readonly names: TypeNames;
  readonly version: string;
  /** The types of operations that agents may run. */
  readonly types: readonly ToolType[];
  /** The only documents that run; null when every document runs. */
  readonly trusted: TrustedDocuments | null;
  readonly isIntrospectable: boolean;
  /** Longest result of a tool, in bytes. */
  readonly maxResultBytes: number;
  /** Opens the GraphQL operation of a request. Called only when a tool runs one. */
  readonly openOperation: (request: IncomingMessage, state: RequestState) => HttpOperation;
}

/** Answers a message of an MCP client. Ends the scope of its request. */
export type McpHandler = (
  response: ServerResponse,
  body: Buffer | null,
  state: RequestState,
) => Promise<void>;

/** What agents are told about the server when they connect. */
const INSTRUCTIONS =
  "Records of machine-learning runs: experiments, jobs, build jobs, groups (searches), users, and the nodes of the cluster. " +
  "An `id` of one kind is a global id from another result, or the dotted name: ada.mnist.42 (experiment), ada.mnist.1 (group), ada.mnist.jobs.3, ada.mnist.builds.7. " +
  "Results have `data`, and `errors` with a message and `extensions.code` where something could not be read.";

const NO_BODY = Buffer.alloc(0);

const SDL_URI = "rungraph://schema.graphql";

/** Creates the handler of `/mcp`. Each request has a server of its own: no sessions, so any replica answers. */
export async function createMcpHandler(settings: McpSettings): Promise<McpHandler> {
  const { schema, engine, delivery, names, version, types, trusted, openOperation } = settings;
  const operations = await readToolOperations(schema, trusted, names);
  const sdl = settings.isIntrospectable ? printForAgents(schema) : null;
  const tools: readonly Tool[] = [
    ...operations.filter(({ type }) => types.includes(type)).map(toolOfOperation),
    ...(trusted ? [] : types.map(toolOfOwnDocuments)),
    ...(sdl && !trusted ? [toolOfSchema(sdl)] : []),
  ];

  const openServer = (execute: Execute): McpServer => {
    const server = new McpServer(
      { name: "rungraph", version },
      {
        capabilities: {
          tools: { listChanged: false },
          ...(sdl && { resources: { listChanged: false, subscribe: false } }),
        },
        instructions: INSTRUCTIONS,
        jsonSchemaValidator: ARGUMENT_NAMES,
      },
    );
    for (const register of tools) register(server, execute);
    if (sdl) {
      const mimeType = "application/graphql";
      const config = { description: "The GraphQL schema in SDL.", mimeType };
      server.registerResource("schema", SDL_URI, config, () => ({
        contents: [{ uri: SDL_URI, mimeType, text: sdl.text }],
      }));
    }
    return server;
  };

  const run = async (
    operation: HttpOperation["operation"],
    ...[params, type]: Parameters<Execute>
  ): Promise<ExecutionResult> => {
    const given = engine.typeOf(params);
    if (given === null || given === type) {
      const isReadOnly = type === "query";
      return engine.run({ ...operation, params, isReadOnly, maxBytes: settings.maxResultBytes });
    }
    operation.facts.type = given;
    operation.facts.codes = ["BAD_REQUEST"];
    return { errors: [rejection(`Expected a ${type}, got a ${given}.`, "BAD_REQUEST")] };
  };

  const executeFor =
    (request: IncomingMessage, state: RequestState): Execute =>
    async (...given) => {
      const { operation, run: runInSpan, end } = openOperation(request, state);
      const result = await runInSpan(() => run(operation, ...given));
      end(200);
      return engine.finish(result, state.scope.requestId, operation.explain);
    };

  return async (response, body, state) => {
    const { req: request } = response;
    const { scope } = state;
    const { requestId } = scope;
    const answer = await answerTo(
      request,
      body ?? NO_BODY,
      () => openServer(executeFor(request, state)),
      requestId,
    );
    // Most messages run no operation.
    scope.end("done");
    const headers = {
      ...Object.fromEntries(answer.headers),
      "x-request-id": requestId,
      "cache-control": "private, no-store",
    };
    const { status } = answer;
    await delivery.send(response, { status, headers, body: await answer.text() }, scope.callerKey);
  };
}

/** The headers that belong to the protocol. Others, such as the token, do not concern it. */
const PROTOCOL_HEADERS = /^(?:accept|content-type|mcp-.*)$/;

/** Answers one message. */
async function answerTo(
  { headers }: IncomingMessage,
  body: Buffer,
  openServer: () => McpServer,
  requestId: string,
): Promise<Response> {
  let message: object;
  try {
    message = parseObject(body);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const data = { code: "BAD_REQUEST", requestId };
    const text = jsonRpcError(JSON_RPC_CODES.invalidRequest, error.message, data);
    return new Response(text, { status: 400, headers: { "content-type": "application/json" } });
  }
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: Object.entries(headers).filter(
      (entry): entry is [string, string] => PROTOCOL_HEADERS.test(entry[0]) && typeof entry[1] === "string",
    ),
  });
  const options = { parsedBody: message };
  if (!(await isLegacyRequest(request, message))) {
    // Nothing ever changes, so there is nothing to subscribe to.
    const handler = createModernHandler(openServer, { legacy: "reject", maxSubscriptions: 0 });
    return handler.fetch(request, options);
  }
  // Revisions before 2026-07-28.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await openServer().connect(transport);
  return transport.handleRequest(request, options);
}
