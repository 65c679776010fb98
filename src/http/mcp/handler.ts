import type { IncomingHttpHeaders } from "node:http";
import {
  createMcpHandler as createModernHandler,
  isInitializeRequest,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool as Definition,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { lexicographicSortSchema } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { type ExecutionArgs, finalizeResult } from "../../engine/engine.ts";
import { endOfScopeError, rejection } from "../../engine/errors.ts";
import { printPlain, withoutFederation } from "../../graphql/federation/subgraph.ts";
import { version } from "../../package-info.ts";
import { isObject } from "../../rest/api/record.ts";
import { estimateHeapBytes } from "../../callers/memory-budget.ts";
import { CACHE_CONTROL_PRIVATE } from "../graphql/encoding.ts";
import { resultTypeFor } from "../graphql/content-negotiation.ts";
import { parseObject } from "../graphql/request-params.ts";
import { openOperation } from "../operation.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { reject } from "../error-response.ts";
import type { Execute } from "../router.ts";
import {
  callTool,
  readTools,
  type RunOperation,
  toolOfOwnDocuments,
  toolOfSchema,
  type ToolType,
  toToolResult,
} from "./tools.ts";

/** Maximum size of the GraphQL result of a tool, in bytes. The agent reads all of it, and this size is about 25,000 tokens. */
const MAX_TOOL_BYTES = 100_000;

/** Maximum length of a name that an error message repeats, in characters. */
const MAX_REPEATED = 200;

/** The instructions that agents read when they connect. */
const INSTRUCTIONS = [
  "Records of machine-learning runs: experiments, jobs, build jobs, groups, users, and the nodes of the cluster.",
  "An `id` is a global id or a `reference` from another result: ada.mnist (project), ada.mnist.experiments.42, ada.mnist.groups.1, ada.mnist.jobs.3, ada.mnist.builds.7. Where only one kind is meant, ada.mnist.42 does.",
  "Results have `data`, and `errors` with a message and `extensions.code` if something could not be read.",
].join(" ");

/** Further instructions that mention a tool, by the name of the tool. They are given only if the tool exists. */
const BEGINNINGS = {
  FindProjects:
    " Where no name is known, begin with FindProjects, which lists the names of projects and groups.",
  graphql_query: " What no other tool answers, graphql_query does.",
};

const lettersOf = (text: string) => text.replaceAll(/[^a-z]/gi, "").toLowerCase();

/** Suggests the tool whose name has the same letters in another style, such as `FindRuns` for `find_runs`. */
function hintFor(name: string, names: readonly string[]): string {
  const letters = lettersOf(name.slice(0, MAX_REPEATED));
  const similar = names.find((each) => lettersOf(each) === letters);
  return similar ? `did you mean ${similar}?` : "tools/list lists all tools";
}

const SDL = {
  name: "schema",
  uri: "rungraph://schema.graphql",
  description: "The GraphQL schema in SDL.",
  mimeType: "application/graphql",
};

/** Creates the handler of `/mcp`. There are no sessions, so any replica can answer any message. */
export async function createMcpHandler(dependencies: GatewayDependencies): Promise<Execute> {
  const { schema, engine, config } = dependencies;
  const types: readonly ToolType[] = config.MCP === "write" ? ["query", "mutation"] : ["query"];
  const shown = config.INTROSPECTION ? lexicographicSortSchema(withoutFederation(schema)) : null;
  const isOpen = !config.TRUSTED_DOCUMENTS;
  const all = [
    ...(await readTools(dependencies, types)),
    ...(isOpen ? types.map((type) => toolOfOwnDocuments(type, shown !== null, config.MAX_TOKENS)) : []),
    ...(shown && isOpen ? [toolOfSchema(shown)] : []),
  ];
  // If several tools have the same name, the last one counts.
  const tools = new Map(all.map((tool) => [tool.definition.name, tool]));
  const sdl = shown && printPlain(schema).trimEnd();
  const capabilities = { tools: {}, ...(sdl !== null && { resources: {} }) };
  const beginnings = Object.entries(BEGINNINGS).flatMap(([tool, text]) => (tools.has(tool) ? text : []));
  const options = { capabilities, instructions: INSTRUCTIONS + beginnings.join("") };

  /** Opens the MCP server that answers one message. `execute` runs operations for the caller that sent the message. */
  const openServer = (execute: RunOperation): Server => {
    const server = new Server({ name: "rungraph", version }, options);
    server.setRequestHandler("tools/list", () => ({
      // Safe: a JSON Schema is JSON.
      tools: [...tools.values()].map(({ definition }) => definition as Definition),
    }));
    server.setRequestHandler("tools/call", ({ params: { name, arguments: given = {} } }) => {
      const tool = tools.get(name);
      if (tool) return callTool(tool, given, execute);
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Tool ${name.slice(0, MAX_REPEATED)} not found; ${hintFor(name, [...tools.keys()])}`,
      );
    });
    if (sdl === null) return server;
    server.setRequestHandler("resources/list", () => ({ resources: [SDL] }));
    server.setRequestHandler("resources/read", ({ params: { uri } }) => {
      if (uri === SDL.uri) return { contents: [{ uri, mimeType: SDL.mimeType, text: sdl }] };
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Resource ${uri.slice(0, MAX_REPEATED)} not found`,
      );
    });
    return server;
  };

  const executeOperation = async (operation: ExecutionArgs, params: OperationParams, type: ToolType) => {
    const parsed = await engine.parse(params, operation.scope);
    const limits = { isReadOnly: type === "query", maxBytes: MAX_TOOL_BYTES, parsed };
    if (!parsed || parsed.type === type) return engine.run(operation, params, limits);
    operation.details.type = parsed.type;
    operation.details.codes = ["BAD_REQUEST"];
    return { errors: [rejection(`Expected a ${type}, got a ${parsed.type}.`, "BAD_REQUEST")] };
  };

  return async (response, received, scope) => {
    const { requestId, caller } = scope;
    const { req: request } = response;
    const execute: RunOperation = async (params, type, document) => {
      // Strings of JSON in the arguments have been parsed by now. The parsed values need additional memory.
      dependencies.memoryBudget.charge(scope, estimateHeapBytes([params, type]));
      const operation = openOperation(dependencies, request, scope);
      const result = await operation.run(() => executeOperation(operation, params, type));
      operation.end(200);
      return toToolResult(finalizeResult(result, requestId, operation.extensions), document);
    };
    let answer: Response;
    try {
      // The SDK takes some milliseconds for a message, so each message has its own tick. It waits unparsed, which takes less memory.
      await dependencies.scheduler.ownTick(scope);
      if (scope.ended) throw endOfScopeError(scope.ended);
      const chargeMemory = (heapBytes: number) => void dependencies.memoryBudget.charge(scope, heapBytes);
      const message = parseObject(received ?? Buffer.alloc(0), chargeMemory);
      answer = await answerMessage(message, request.headers, () => openServer(execute));
    } catch (error) {
      return reject(response, "mcp", dependencies.publicError(error), requestId);
    } finally {
      // Ends the scope of a message that executes no operation. An operation would have ended the scope itself.
      scope.end("completed");
    }
    const headers = {
      ...Object.fromEntries(answer.headers),
      "x-request-id": requestId,
      "cache-control": CACHE_CONTROL_PRIVATE,
    };
    const body = await answer.text();
    await dependencies.responseWriter.send(response, { status: answer.status, headers, body }, caller);
  };
}

/** Matches the headers that belong to the protocol. The SDK does not receive others, such as the token. */
const PROTOCOL_HEADERS = /^(?:accept|content-type|mcp-.*)$/;

/**
 * Selects the headers for the SDK. `accept` is extended, because the SDK requires clients to accept event streams although no response is
 * an event stream.
 */
function protocolHeaders({ accept, ...headers }: IncomingHttpHeaders) {
  const accepts = resultTypeFor(accept) ? "application/json, text/event-stream" : accept;
  return Object.entries({ ...headers, accept: accepts }).filter(
    (entry): entry is [string, string] => PROTOCOL_HEADERS.test(entry[0]) && typeof entry[1] === "string",
  );
}

/**
 * Answers one message with a new server, without a session and without a stream. The message is of the protocol revision 2026-07-28 or of an
 * earlier one.
 */
async function answerMessage(message: object, headers: IncomingHttpHeaders, open: () => Server) {
  const request = new Request("http://localhost/mcp", { method: "POST", headers: protocolHeaders(headers) });
  // Some clients send null instead of omitting the arguments.
  const { id, method, params } = message as Readonly<Record<string, unknown>>;
  if (isObject(params) && params["arguments"] === null) delete params["arguments"];
  const options = { parsedBody: message };
  if (!(await isLegacyRequest(request, message))) {
    // Tools and resources never change, so there is nothing to subscribe to.
    return createModernHandler(open, { legacy: "reject", maxSubscriptions: 0 }).fetch(request, options);
  }
  // Rejects an invalid message, for which the SDK would report an internal error.
  if (method === "initialize" && !isInitializeRequest(message)) {
    const text = "initialize: expected protocolVersion, capabilities and clientInfo";
    const error = { code: ProtocolErrorCode.InvalidParams, message: text };
    return Response.json({ jsonrpc: "2.0", id, error });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await open().connect(transport);
  return transport.handleRequest(request, options);
}
