import type { IncomingHttpHeaders } from "node:http";
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool as Definition,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { nextTurn } from "../../engine/turns.ts";
import { isObject } from "../../rest/api/record.ts";
import { resultTypeFor } from "../graphql/encoding.ts";
import { callTool, type RunOperation, type Tool } from "./tools.ts";

/** What agents read about the server when they connect. */
const INSTRUCTIONS = [
  "Records of machine-learning runs: experiments, jobs, build jobs, groups, users, and the nodes of the cluster.",
  "An `id` is a global id from another result, or the dotted name: ada.mnist (project), ada.mnist.experiments.42, ada.mnist.groups.1, ada.mnist.jobs.3, ada.mnist.builds.7. Where only one kind is meant, ada.mnist.42 does.",
  "Results have `data`, and `errors` with a message and `extensions.code` where something could not be read.",
].join(" ");

/** Where to begin, for a server that has the tool. */
const BEGINNINGS: readonly (readonly [tool: string, sentence: string])[] = [
  [
    "FindProjects",
    "Where no name is known, begin with FindProjects, which lists the names of projects and groups.",
  ],
  ["graphql_query", "What no other tool answers, graphql_query does."],
];

export const instructionsFor = (tools: ServerParts["tools"]): string => {
  const beginnings = BEGINNINGS.filter(([name]) => tools.has(name));
  return [INSTRUCTIONS, ...beginnings.map(([, sentence]) => sentence)].join(" ");
};

const SDL = {
  name: "schema",
  uri: "rungraph://schema.graphql",
  description: "The GraphQL schema in SDL.",
  mimeType: "application/graphql",
};

interface ServerParts {
  readonly version: string;
  /** By their names. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly instructions: string;
  /** The schema as a resource; null when it is hidden. */
  readonly sdl: string | null;
}

/** Opens the server of one message. `execute` runs the operations of its caller. */
export function openServer(
  { version, tools, instructions, sdl }: ServerParts,
  execute: RunOperation,
): Server {
  const capabilities = { tools: {}, ...(sdl !== null && { resources: {} }) };
  const server = new Server({ name: "rungraph", version }, { capabilities, instructions });
  server.setRequestHandler("tools/list", () => ({
    // Safe: a JSON Schema is JSON.
    tools: [...tools.values()].map(({ definition }) => definition as Definition),
  }));
  server.setRequestHandler("tools/call", ({ params: { name, arguments: given = {} } }) => {
    const tool = tools.get(name);
    if (tool) return callTool(tool, given, execute);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name} not found`);
  });
  if (sdl === null) return server;
  server.setRequestHandler("resources/list", () => ({ resources: [SDL] }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    if (uri === SDL.uri) return { contents: [{ uri, mimeType: SDL.mimeType, text: sdl }] };
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri} not found`);
  });
  return server;
}

/** The headers that belong to the protocol. Others, such as the token, do not concern it. */
const PROTOCOL_HEADERS = /^(?:accept|content-type|mcp-.*)$/;

/** The SDK wants clients to accept event streams as well, of which there are none. */
function protocolHeaders({ accept, ...headers }: IncomingHttpHeaders) {
  const accepts = resultTypeFor(accept) ? "application/json, text/event-stream" : accept;
  return Object.entries({ ...headers, accept: accepts }).filter(
    (entry): entry is [string, string] => PROTOCOL_HEADERS.test(entry[0]) && typeof entry[1] === "string",
  );
}

/**
 * Answers one message by a server of its own, without a session and without a stream: of the revision 2026-07-28, or of
 * an earlier one.
 */
export async function answerMessage(
  message: object,
  headers: IncomingHttpHeaders,
  open: () => Server,
): Promise<Response> {
  // The SDK takes some milliseconds for a message.
  await nextTurn();
  const request = new Request("http://localhost/mcp", { method: "POST", headers: protocolHeaders(headers) });
  // Some clients send null for no arguments at all.
  const { params } = message as { readonly params?: unknown };
  if (isObject(params) && params["arguments"] === null) delete params["arguments"];
  const options = { parsedBody: message };
  if (!(await isLegacyRequest(request, message))) {
    // Tools and resources never change, so there is nothing to subscribe to.
    return createMcpHandler(open, { legacy: "reject", maxSubscriptions: 0 }).fetch(request, options);
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await open().connect(transport);
  return transport.handleRequest(request, options);
}
