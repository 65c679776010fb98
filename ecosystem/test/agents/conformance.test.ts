import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";

/*
 * The public conformance suite of the Model Context Protocol. Its other scenarios call tools and resources of a test server,
 * or what this server does not have: prompts, logging, completion and streams.
 */
const SCENARIOS = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

const suite = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

const NODES = fileURLToPath(new URL("../../../nodes", import.meta.url));

/** The suite needs Node 22. */
const nodes = [
  ...(Number.parseInt(process.versions.node, 10) >= 22 ? [process.execPath] : []),
  join(NODES, "node_modules/node-24/bin/node"),
];
const node = nodes.find((path) => existsSync(path)) ?? null;
if (node === null) process.stdout.write("\nNOT RUN: the conformance suite of MCP, for want of Node 22.\n\n");

test.skipIf(node === null).each(SCENARIOS)("the conformance suite of MCP passes: %s", async (scenario) => {
  const { url } = await startDemoGateway({ env: { MCP: "write" } });
  const address = `${url.replace("127.0.0.1", "localhost")}/mcp`;
  const args = [suite, "server", "--url", address, "--scenario", scenario];
  const { stdout } = await promisify(execFile)(node ?? "", args);
  expect(/Passed: (\d+)\/\1, 0 failed, 0 warnings/.exec(stdout)?.[1]).toMatch(/^[1-9]/);
});
