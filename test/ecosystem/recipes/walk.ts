import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Block, readPage } from "../../docs/page.ts";
import { startDemoGateway } from "../../support/demo-gateway.ts";
import { createAppFolder, startServer } from "./server.ts";

const ECOSYSTEM = fileURLToPath(new URL("../", import.meta.url));

/** The gateway's address on every page. */
const ADDRESS = "http://127.0.0.1:4000";
/** The folder of the reader, relative to the gateway's. */
const FOLDER = "../frontend/";
/** The command that starts the gateway, with its settings before it. */
const START = /^((?:\w+=\S+ )*)npm start$/;
const INSTALL = /^npm install (?:--save-dev )?/;
/** Creates the gateway's package in its folder. */
const PACKED = "/path/to/rungraph-*.tgz";
/** Sets a variable for the following commands. */
const EXPORT = /^export (\w+)=(\S+)$/;
/** A server of the page, which keeps running while the other commands run. */
const SERVE = /^(node \S+) &$/;

interface WalkOptions {
  /** The folder of a built gateway: the package `rungraph`. */
  readonly gateway: string;
  /** A folder of programs that take precedence over all others. */
  readonly programs?: string;
}

interface Walked {
  /** The output of commands as the page shows it, by its line in the page. */
  readonly reported: Readonly<Record<string, string>>;
  /** The actual output. */
  readonly printed: Readonly<Record<string, string>>;
}

/**
 * Follows a page from top to bottom, as a reader does with an empty folder and a running gateway. It writes the files, runs the commands,
 * and records the output of a command that precedes a `text` block. If a page continues in the folder of another page, it follows that one
 * first. Throws for any other block, and if a command fails.
 */
export async function walk(path: string, { gateway, programs = "" }: WalkOptions): Promise<Walked> {
  // Packages that a page installs are checked against the ones installed here.
  const folder = await createAppFolder(gateway);

  let url = "";
  const here = (text: string) => text.replaceAll(ADDRESS, url);
  // Passes no other variables of the test: some programs behave differently if NODE_ENV is `test`.
  const env: NodeJS.ProcessEnv = {
    PATH: [programs, process.env["PATH"]].filter(Boolean).join(delimiter),
    HOME: process.env["HOME"],
    NO_COLOR: "1",
  };
  const reported: Record<string, string> = {};
  const printed: Record<string, string> = {};
  /** Output of the latest commands, until the page shows it. */
  let last: string | null = null;

  const follow = async (line: string) => {
    const [, settings] = START.exec(line) ?? [];
    const [, server] = SERVE.exec(line) ?? [];
    const [, variable, value] = EXPORT.exec(line) ?? [];
    if (server !== undefined) ({ url } = await startServer(server, folder));
    else if (settings !== undefined) url = await startGateway(settings, folder);
    else if (variable !== undefined) env[variable] = value;
    else if (INSTALL.test(line)) await expectInstalled(line);
    else return run(here(line), folder, env);
    return "";
  };

  const blocks = blocksTo(path);
  const servesItself = blocks.some((block) => commandsOf(block).some((line) => SERVE.test(line)));
  if (!servesItself) url = await startGateway("", folder);

  for (const block of blocks) {
    if (block.file !== null) {
      await writeText(join(folder, block.file), here(block.text));
    } else if (block.language === "sh") {
      last = "";
      for (const line of commandsOf(block)) last += await follow(line);
    } else if (block.language === "text" && last !== null) {
      reported[placeOf(block)] = here(block.text).trimEnd();
      printed[placeOf(block)] = last.trimEnd();
      last = null;
    } else {
      throw new Error(`${placeOf(block)}: neither a file nor a command nor what a command prints`);
    }
  }
  return { reported, printed };
}

/** The blocks of a page after those that prepare its folder. */
function blocksTo(path: string): readonly Block[] {
  const { continuesFrom, blocks } = readPage(path);
  if (continuesFrom === null) return blocks;
  const own = new Set(blocks.map(({ text }) => text));
  return [
    ...blocksTo(continuesFrom)
      .filter(isPreparation)
      .filter(({ text }) => !own.has(text)),
    ...blocks,
  ];
}

/** Whether later pages need a block. Commands that only show something are not needed. */
const isPreparation = ({ language }: Block, at: number, blocks: readonly Block[]) =>
  language !== "text" && blocks[at + 1]?.language !== "text";

const placeOf = ({ page, line }: Block) => `${page}:${line}`;

const commandsOf = ({ text }: Block) => text.replaceAll("\\\n", "").split("\n").filter(Boolean);

/** The demo's time passes faster than that of its readers by this factor: its runs take half a minute. */
const HASTE = 5;

/** Starts a gateway with its demo, as `npm start` starts it, and its address. */
async function startGateway(settings: string, folder: string): Promise<string> {
  const env = settings
    .trim()
    .split(" ")
    .filter(Boolean)
    .map((setting) => setting.replaceAll('"', "").split(/=(.*)/).slice(0, 2))
    .map(([name, value = ""]) => [name, value.replace(FOLDER, `${folder}/`)]);
  const start = Date.now();
  const { url } = await startDemoGateway({
    now: () => start + HASTE * (Date.now() - start),
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...Object.fromEntries(env) },
  });
  return url;
}

async function writeText(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function expectInstalled(line: string): Promise<void> {
  // Safe: a package file has lists of packages.
  const { dependencies, devDependencies } = JSON.parse(
    await readFile(join(ECOSYSTEM, "package.json"), "utf8"),
  ) as Record<"dependencies" | "devDependencies", object>;
  const installed = { ...dependencies, ...devDependencies, rungraph: "" };
  const missing = line
    .replace(INSTALL, "")
    .replace(PACKED, "rungraph")
    .split(" ")
    .filter((name) => !(name in installed));
  if (missing.length > 0) throw new TypeError(`test/ecosystem/package.json lacks ${missing.join(", ")}`);
}

/** Runs a command in a folder and returns its output. If it fails, throws an error with its output. */
async function run(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    // Finds a program as npx does, without the second that npx itself takes.
    const program = command
      .replace("npx rungraph ", "node ../node_modules/rungraph/dist/src/cli.js ")
      .replace(/^((?:\w+=\S+ )*)npx /, "$1node_modules/.bin/");
    const { stdout } = await promisify(execFile)("sh", ["-c", program], { cwd, env });
    return stdout;
  } catch (problem) {
    const { stdout, stderr } = problem as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${command}\n${stdout}${stderr}`, { cause: problem });
  }
}
