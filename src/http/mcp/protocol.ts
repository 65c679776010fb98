import type { IncomingHttpHeaders } from "node:http";
import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

/** The headers that belong to the protocol. Others, such as the token, do not concern it. */
const PROTOCOL_HEADERS = /^(?:accept|content-type|mcp-.*)$/;

const requestOf = (headers: IncomingHttpHeaders): Request =>
  new Request("http://localhost/mcp", {
    method: "POST",
    headers: Object.entries(headers).filter(
      (entry): entry is [string, string] => PROTOCOL_HEADERS.test(entry[0]) && typeof entry[1] === "string",
    ),
  });

/**
 * Answers one message by a server of its own, without a session and without a stream: of the revision 2026-07-28, or of
 * an earlier one.
 */
export async function answerMessage(
  message: object,
  headers: IncomingHttpHeaders,
  openServer: () => McpServer,
): Promise<Response> {
  const request = requestOf(headers);
  const options = { parsedBody: message };
  if (!(await isLegacyRequest(request, message))) {
    // Tools and resources never change, so there is nothing to subscribe to.
    const handler = createMcpHandler(openServer, { legacy: "reject", maxSubscriptions: 0 });
    return handler.fetch(request, options);
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await openServer().connect(transport);
  return transport.handleRequest(request, options);
}
