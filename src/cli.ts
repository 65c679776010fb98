#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { NODE_FLAGS, version } from "./package-info.ts";

// With `rungraph --print-schema | head`, standard output is closed early.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code !== "EPIPE") process.stderr.write(`Cannot print: ${code}\n`);
  process.exit(1);
});

const flag = (does: string, short?: string) => ({ does, type: "boolean" as const, ...(short && { short }) });

const CLI_OPTIONS = {
  "check-config": flag(
    "checks the names and values of the settings: exits with 0, or says what is wrong and exits with 1",
  ),
  "print-schema": flag("prints the schema with @semanticNonNull, with the names of TYPE_NAMES"),
  "print-subgraph": flag("prints the schema with the directives of Apollo Federation"),
  version: flag("prints the version", "v"),
  help: flag("prints this text", "h"),
};

const help = (): string => `Usage: rungraph [option]

Without an option, starts the gateway at http://127.0.0.1:4000/graphql: in front of UPSTREAM_URL, or with an embedded
demo service if that is not set.

${Object.entries(CLI_OPTIONS)
  .map(([name, { short, does }]) => `  ${short ? `-${short}, ` : "    "}--${name.padEnd(16)} ${does}`)
  .join("\n")}

Settings are environment variables, such as UPSTREAM_URL, UPSTREAM_PROFILE, HOST and PORT. All of them, with their
defaults: docs/settings.md of the package
`;

/** The given option; undefined without options. Throws a `TypeError` for several or unknown options. */
function readOption(): string | undefined {
  const [name, ...more] = Object.keys(parseArgs({ options: CLI_OPTIONS }).values);
  if (more.length > 0) throw new TypeError(`Expected one option, got --${name} and --${more.join(", --")}`);
  return name;
}

/**
 * Runs the gateway. V8 reads the size of its young generation only when a process starts. Therefore a process with all flags replaces this
 * one, if Node.js supports that (from 22.15 on, except on Windows). Otherwise the size is V8's default.
 */
async function start(): Promise<number> {
  if (process.platform !== "win32") {
    const main = fileURLToPath(new URL("main.js", import.meta.url));
    const args = [process.execPath, ...NODE_FLAGS, ...process.execArgv, main];
    // The types of the oldest supported Node lack `execve`.
    const { execve } = process as { readonly execve?: (file: string, args: readonly string[]) => never };
    execve?.call(process, process.execPath, args);
  }
  // Skips the first two flags, which have no effect once the process has started.
  for (const changed of NODE_FLAGS.slice(2)) setFlagsFromString(changed);
  await import("./main.ts");
  return 0;
}

async function run(option: string | undefined): Promise<number> {
  if (option === undefined) return start();
  if (option === "version" || option === "help") {
    process.stdout.write(option === "help" ? help() : `${version}\n`);
    return 0;
  }
  const { checkConfig, printSchema } = await import("./cli-output.ts");
  return option === "check-config" ? checkConfig() : printSchema(option);
}

let option: string | undefined;
try {
  option = readOption();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  const [message] = error.message.split(". ", 1);
  process.stderr.write(`${message}. \`rungraph --help\` lists the options.\n`);
  process.exit(2);
}
process.exitCode = await run(option);
