import { execFile } from "node:child_process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const ESLINT = "test/ecosystem/node_modules/eslint/bin/eslint.js";
const CONFIG = "test/ecosystem/eslint.config.js";
const run = promisify(execFile);

interface Linted {
  readonly filePath: string;
  readonly messages: readonly { readonly ruleId: string; readonly line: number }[];
}

/** Lints these paths. Returns the problems of each file. */
async function lint(...paths: string[]) {
  const args = [ESLINT, "--config", CONFIG, "--format", "json", ...paths];
  // Without this variable, the plugin would read the schema and the documents again for each file.
  const env = { ...process.env, NODE_ENV: "production" };
  // ESLint exits with an error if it finds problems, and prints them nevertheless.
  const { stdout } = await run(process.execPath, args, { cwd: ROOT, env, maxBuffer: 1e8 }).catch(
    (problem: { readonly stdout: string }) => problem,
  );
  const linted: readonly Linted[] = JSON.parse(stdout);
  return linted.map(({ filePath, messages }) => ({ file: relative(ROOT, filePath), messages }));
}

test("graphql-eslint finds no problems in the schema, bundled operations and examples", async () => {
  const linted = await lint("schema", "examples/runs/src");
  expect(linted.filter(({ messages }) => messages.length > 0)).toEqual([]);
  const files = linted.map(({ file }) => file);
  expect(files).toEqual(
    expect.arrayContaining([
      "examples/runs/src/status.tsx",
      "schema/operations/33-why-failed.graphql",
      "schema/schema.graphql",
      "schema/subgraph.graphql",
    ]),
  );
});
