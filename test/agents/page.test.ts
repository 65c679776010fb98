import { expect, test } from "vitest";
import * as z from "zod";
import { readPage } from "../docs/page.ts";
import { connectAgent } from "../support/agent.ts";
import { startDemoGateway, tokenOf } from "../support/demo-gateway.ts";

const { blocks } = readPage("docs/agents.md");

/** An entry of a client's file: an address with headers, or the arguments of a program that gets them. */
const Entry = z.union([
  z.object({ url: z.string(), headers: z.object({ Authorization: z.string() }) }),
  z
    .object({ args: z.array(z.string()), env: z.object({ AUTH_HEADER: z.string() }) })
    .transform(({ args, env: { AUTH_HEADER } }) => ({
      url: args[1],
      headers: { [`${args[3]?.split(":")[0]}`]: AUTH_HEADER },
    })),
]);

const ClientFile = z.union([
  z.object({ mcpServers: z.object({ rungraph: Entry }) }).transform(({ mcpServers }) => mcpServers.rungraph),
  z.object({ servers: z.object({ rungraph: Entry }) }).transform(({ servers }) => servers.rungraph),
]);

/** The address and the headers that a block of the page makes a client send. */
function readEntry(language: string, text: string) {
  if (language === "json") return ClientFile.parse(JSON.parse(text));
  const [, url, name = "", value = ""] = /(https:\S+) --header "(\w+): (.*)"/.exec(text) ?? [];
  return { url, headers: { [name]: value } };
}

const entries = blocks
  .filter(({ language, text }) => language === "json" || text.startsWith("claude"))
  .map(({ language, text }) => readEntry(language, text));

test("the page has an entry for each client", () => {
  expect(entries).toHaveLength(4);
});

test.each(entries)("a client with the entry %# of the page acts as its user", async ({ url, headers }) => {
  const gateway = await startDemoGateway({ env: { MCP: "read" } });
  expect(url).toBe("https://rungraph.example.com/mcp");
  const token = tokenOf(gateway.demo, "grace");
  const sent = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace(/<token>|\$\{.*\}/, token),
  ]);
  const { use } = await connectAgent(gateway, {
    headers: Object.fromEntries(sent) as Record<string, string>,
  });
  expect((await use("StartPage")).result).toMatchObject({ data: { viewer: { username: "grace" } } });
});
