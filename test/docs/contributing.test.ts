import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { readPage } from "./page.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = ["src", "schema", "page", "test/contract", "package.json", "tsconfig.json"];

const diffs = readPage("CONTRIBUTING.md").blocks.filter(({ language }) => language === "diff");
const diffOf = (text: string) => diffs.find((diff) => diff.text.includes(text))?.text ?? "";

/** Applies what a diff says of one file. Own code: `git apply` wants line numbers, which a page would get wrong. */
function apply(part: string, folder: string): void {
  const [path = "", ...lines] = part.trimEnd().split("\n");
  const textOf = (left: string) =>
    lines
      .filter((line) => !line.startsWith(left))
      .map((line) => `${line.slice(1)}\n`)
      .join("");
  const file = join(folder, path);
  const [before, after, ...others] = readFileSync(file, "utf8").split(textOf("+"));
  if (after === undefined || others.length > 0) {
    throw new Error(`${path}: expected the lines of CONTRIBUTING's recipe once`);
  }
  writeFileSync(file, before + textOf("-") + after);
}

/** A gateway from a copy of the code to which a recipe was applied, once the compiler accepts it. */
async function startChanged(diff: string) {
  const folder = mkdtempSync(join(tmpdir(), "recipe-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const part of diff.split(/^\+{3} /m).slice(1)) apply(part, folder);
  const settings = { extends: "./tsconfig.json", include: ["src"] };
  writeFileSync(join(folder, "tsconfig.src.json"), JSON.stringify(settings));
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", "tsconfig.src.json"], { cwd: folder });
  const { url, kill } = await startGatewayProcess(null, {}, ["--import", "tsx", join(folder, "src/main.ts")]);
  onTestFinished(kill);
  const ask = async (query: string, token = "") => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body: JSON.stringify({ query }),
    });
    return response.json() as Promise<{ data: Record<string, { token: string }> }>;
  };
  const login = await ask(`mutation { login(input: {username: "ada", password: "ada-demo"}) { token } }`);
  const token = login.data["login"]?.token;
  return (query: string) => ask(query, token);
}

test("a field is added by the two files of CONTRIBUTING's recipe", async () => {
  const ask = await startChanged(diffOf('property("queue")'));
  expect(await ask(`{ job(id: "ada.mnist.jobs.2") { queue uniqueName } }`)).toEqual({
    data: { job: { queue: null, uniqueName: "ada.mnist.jobs.2" } },
  });
});

test("an endpoint is added by the four files of CONTRIBUTING's recipe", async () => {
  const ask = await startChanged(diffOf("pauseJob"));
  expect(await ask(`mutation { pauseJob(id: "ada.mnist.jobs.2") { job { status } } }`)).toEqual({
    data: { pauseJob: { job: { status: "STOPPING" } } },
  });
});
