import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { startDemoGateway, tokenOf } from "./demo-gateway.ts";
import { JSON_BODY } from "./raw-requests.ts";

/** The revisions of the protocol. `auto`: with an envelope in each message. `legacy`: the earlier revision, with a handshake. */
export type Era = "auto" | "legacy";

interface AgentOptions {
  readonly token?: string | null;
  readonly era?: Era;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Connects an MCP client to a gateway. The client is closed when the test ends. */
export async function connectAgent(
  gateway: { readonly url: string },
  { token = null, era = "auto", headers = {} }: AgentOptions = {},
) {
  const client = new Client({ name: "agent", version: "1" }, { versionNegotiation: { mode: era } });
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const requestInit = { headers: { ...authorization, ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  return {
    client,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    /** The result of a tool: its text content, the GraphQL result, and whether it is an error. */
    use: async (name: string, input: Record<string, unknown> = {}) => {
      const {
        content,
        structuredContent,
        isError = false,
      } = await client.callTool({ name, arguments: input });
      const [first] = content;
      const text = first?.type === "text" ? first.text : "";
      // Safe: the results of a gateway's tools are GraphQL data: objects, or nothing.
      return { text, result: (structuredContent ?? {}) as Record<string, unknown>, isError };
    },
  };
}

/** Starts the demo behind a gateway with MCP, and a client that is signed in as ada. */
export async function startAgent(
  { env, ...others }: NonNullable<Parameters<typeof startDemoGateway>[0]> = {},
  options: AgentOptions = {},
) {
  const gateway = await startDemoGateway({ ...others, env: { MCP: "read", ...env } });
  const agent = await connectAgent(gateway, { token: tokenOf(gateway.demo, "ada"), ...options });
  return { ...gateway, ...agent };
}

/** A message of JSON-RPC as the body of a request. */
export const rpc = (method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

export const MCP_HEADERS = { ...JSON_BODY, accept: "application/json, text/event-stream" };
