import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startDemoGateway } from "../../support/demo-gateway.ts";

/** The scenarios of the public conformance suite of the Model Context Protocol that a server passes without special tools. */
const SCENARIOS = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

/** The other scenarios, by the feature that they need. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "tools and resources of a test server": [
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
  ],
  "prompts: the gateway has none": [
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
  ],
  "log messages and completions: the gateway has none": [
    "logging-set-level",
    "tools-call-with-logging",
    "completion-complete",
  ],
  "sessions and streams: each message has one response, and the resource never changes": [
    "server-sse-polling",
    "server-sse-multiple-streams",
    "resources-subscribe",
    "resources-unsubscribe",
  ],
};

const suite = fileURLToPath(
  new URL("../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

const NODES = fileURLToPath(new URL("../../nodes", import.meta.url));

/** The suite needs Node 22. */
const nodes = [
  ...(Number.parseInt(process.versions.node, 10) >= 22 ? [process.execPath] : []),
  join(NODES, "node_modules/node-24/bin/node"),
];
const node = nodes.find((path) => existsSync(path)) ?? null;
if (node === null) process.stdout.write("\nNOT RUN: the conformance suite of MCP, for want of Node 22.\n\n");

test.skipIf(node === null).each(SCENARIOS)("passes the MCP conformance suite: %s", async (scenario) => {
  const { url } = await startDemoGateway({ env: { MCP: "write" } });
  const address = `${url.replace("127.0.0.1", "localhost")}/mcp`;
  const args = [suite, "server", "--url", address, "--scenario", scenario];
  const { stdout } = await promisify(execFile)(node ?? "", args);
  expect(/Passed: (\d+)\/\1, 0 failed, 0 warnings/.exec(stdout)?.[1]).toMatch(/^[1-9]/);
});

test.skipIf(node === null)("every skipped scenario of the suite has a reason", async () => {
  const { stdout } = await promisify(execFile)(node ?? "", [suite, "list", "--server"]);
  const scenarios = [...stdout.matchAll(/^ +- ([\w-]+)/gm)].map(([, name]) => name);
  expect(scenarios.toSorted()).toEqual([...SCENARIOS, ...Object.values(LEFT_OUT).flat()].toSorted());
});
