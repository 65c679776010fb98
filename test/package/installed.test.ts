import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { askAt } from "../support/gateway.ts";
import { installPackage } from "../support/build.ts";
import { BUILT } from "../support/built.ts";
import { DEMO_TOKEN, READY_LINE, startProgram } from "../support/main-process.ts";
import { COMPILER } from "../support/typescript.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

const { app, packed } = installPackage(BUILT);

/** Runs the command of the package to its end. */
function rungraph(args: readonly string[], environment: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(join(app, "node_modules/.bin/rungraph"), args, {
    cwd: app,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...environment },
  });
  return { code: status, out: stdout, err: stderr };
}

describe("the package in an empty folder", () => {
  test("contains runtime files, types and documentation", () => {
    const paths = packed.files.map(({ path }) => path);
    expect([...new Set(paths.map((path) => path.split("/", 1)[0]))].toSorted()).toEqual(
      "CHANGELOG.md LICENSE README.md dist docs package.json schema src".split(" "),
    );
    expect(paths.filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts"))).toEqual([]);
    expect(paths.filter((path) => /tsconfig|released|\.png$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.endsWith(".d.ts"))).toEqual([
      "dist/src/index.d.ts",
      "dist/src/observability/log.d.ts",
    ]);
    expect(packed.size).toBeLessThan(1_000_000);
  });

  test("starts with npx, answers, serves GraphiQL, and stops when npx gets SIGTERM", async () => {
    const { printed, kill, ended, out, err } = startProgram(["npx", "rungraph"], { PORT: "0" }, app);
    const [, url = ""] = await printed(READY_LINE);
    const [, token = ""] = await printed(DEMO_TOKEN);
    expect(await askAt(url, token, `{ experiment(id: "ada.mnist.42") { uniqueName } }`)).toEqual({
      data: { experiment: { uniqueName: "ada.mnist.42" } },
    });
    const page = await fetch(url, { headers: { accept: "text/html" } });
    const files = [...(await page.text()).matchAll(/(?:src|href)="(graphiql\/[^"]+)"/g)];
    expect(files.length).toBeGreaterThan(4);
    for (const [, file = ""] of files) expect((await fetch(new URL(file, url))).status).toBe(200);
    kill("SIGTERM");
    // The output ends when the gateway ends, which may run longer than npx.
    await ended;
    expect(out()).toContain('"draining"');
    expect(err()).toBe("");
  });
});

describe("the command", () => {
  test("prints its version and options, and rejects unknown options", () => {
    for (const option of ["--version", "-v"])
      expect(rungraph([option])).toEqual({ code: 0, out: `${version}\n`, err: "" });
    const { code, out } = rungraph(["--help"]);
    const options = "--check-config --print-schema --print-subgraph --version --help".split(" ");
    expect([code, out.match(/(?<= )--[\w-]+/g)]).toEqual([0, options]);
    const err = "Unknown option '--port'. `rungraph --help` lists the options.\n";
    expect(rungraph(["--port=1"])).toEqual({ code: 2, out: "", err });
  });

  test("prints the schema and subgraph with the configured type names", () => {
    expect(rungraph(["--print-schema"]).out).toBe(read("schema/schema.graphql"));
    expect(rungraph(["--print-subgraph"]).out).toBe(read("schema/subgraph.graphql"));
    // Prints a schema that no other setting affects.
    const print = (TYPE_NAMES: string) =>
      rungraph(["--print-schema"], { TYPE_NAMES, NODE_ENV: "production" });
    expect(print("Node=Machine")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^type Machine imp/m),
    });
    expect(print("canary").code).toBe(1);
  });

  test("exits quietly when its output is no longer read", () => {
    const command = "node_modules/.bin/rungraph --print-schema | head -n 1";
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: app, encoding: "utf8" });
    expect([stdout, stderr]).toEqual([read("schema/schema.graphql").split(/^/m, 1)[0], ""]);
  });

  test("checks the settings without starting a server", () => {
    expect(rungraph(["--check-config"])).toEqual({ code: 0, out: "ok\n", err: "" });
    expect(rungraph(["--check-config"], { PORT: "canary", MAX_TOKENS: "7" })).toEqual({
      code: 1,
      out: "",
      err: `The settings cannot be used:
MAX_TOKENS: unknown setting; did you mean MAX_FIELDS? Or see docs/settings.md
PORT: expected a whole number from 0 to 65535
`,
    });
  });

  test("warns of trusted documents that do not match the schema", () => {
    const manifest = join(app, "documents.json");
    const documents = { valid: "{ gateway { version } }", old: "{ gateway { old } }", cut: "{" };
    writeFileSync(manifest, JSON.stringify(documents));
    expect(rungraph(["--check-config"], { TRUSTED_DOCUMENTS: manifest })).toEqual({
      code: 0,
      out: "ok\n",
      err: "Warning: TRUSTED_DOCUMENTS: 2 of 3 documents do not match the schema, the first is old\n",
    });
  });
});

const USES = `
import { createServer } from "node:http";
import { createGateway, type Gateway, type Log, type Settings } from "rungraph";
const lines: string[] = [];
const write = (fields: object, message: string) => void lines.push(message + JSON.stringify(fields));
const log: Log = { debug: write, info: write, warn: write, error: write };
const settings: Settings = { UPSTREAM_URL: "https://tracker.example.com", MAX_DEPTH: 12, GRAPHIQL: "off" };
const gateway: Gateway = await createGateway(settings, { prefix: "/runs", log });
await createGateway(process.env);
createServer(gateway.handler).on("upgrade", gateway.upgrade);
await gateway.close();
// @ts-expect-error no such setting
await createGateway({ UPSTREM_URL: "https://tracker.example.com" });
// @ts-expect-error only a server listens
await createGateway({ PORT: 4000 });
`;

test.each([
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
])("the package's types compile on their own: %s, %s", (module, resolution) => {
  writeFileSync(join(app, "uses.mts"), USES);
  const flags = "--target es2023 --lib es2023 --types node --strict --exactOptionalPropertyTypes --noEmit";
  const options = `${flags} --module ${module} --moduleResolution ${resolution} uses.mts --typeRoots`;
  const args = [COMPILER, ...options.split(" "), join(ROOT, "node_modules/@types")];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: app, encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});
