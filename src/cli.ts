#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { NODE_FLAGS, readVersion } from "./installation.ts";

/** An option of the command `rungraph`. */
interface Option {
  readonly short?: string;
  readonly does: string;
  /** Resolves with the exit code. */
  readonly run: () => Promise<number>;
}

// `rungraph --print-schema | head` closes it early.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code !== "EPIPE") process.stderr.write(`Cannot print: ${code}\n`);
  process.exit(1);
});

const print = (text: string): void => void process.stdout.write(text);

const OPTIONS: Readonly<Record<string, Option>> = {
  "check-config": {
    does: "checks the names and values of the settings: exits with 0, or says what is wrong and exits with 1",
    run: async () => (await import("./print.ts")).checkConfig(),
  },
  "print-schema": {
    does: "prints the schema, with the names of TYPE_NAMES",
    run: async () => (await import("./print.ts")).printSchema("plain"),
  },
  "print-subgraph": {
    does: "prints the schema with the directives of Apollo Federation",
    run: async () => (await import("./print.ts")).printSchema("subgraph"),
  },
  version: {
    short: "v",
    does: "prints the version",
    run: async () => {
      print(`${readVersion()}\n`);
      return 0;
    },
  },
  help: {
    short: "h",
    does: "prints this text",
    run: async () => {
      print(help());
      return 0;
    },
  },
};

const help = (): string => `Usage: rungraph [option]

Without an option, starts the gateway at http://127.0.0.1:4000/graphql: in front of UPSTREAM_URL, or with an embedded
demo service if that is not set.

${Object.entries(OPTIONS)
  .map(
    ([name, { short, does }]) => `  ${(short ? `-${short}, ` : "").padStart(4)}--${name.padEnd(16)} ${does}`,
  )
  .join("\n")}

Settings are environment variables, such as UPSTREAM_URL, UPSTREAM_PROFILE, HOST and PORT. All of them, with their
defaults: docs/settings.md of the package
`;

/** The one option that is given; null for none. Throws a `TypeError` for anything else. */
function readOption(): Option | null {
  const { values } = parseArgs({
    options: Object.fromEntries(
      Object.entries(OPTIONS).map(([name, { short }]) => [
        name,
        { type: "boolean" as const, ...(short && { short }) },
      ]),
    ),
  });
  const [name, ...more] = Object.keys(values);
  if (more.length > 0) throw new TypeError(`Expected one option, got --${name} and --${more.join(", --")}`);
  return OPTIONS[name ?? ""] ?? null;
}

/** Not in the types of the oldest Node: replaces this process by another one. */
interface Replaceable {
  readonly execve?: (file: string, args: readonly string[]) => never;
}

/**
 * Runs the gateway in this process. V8 reads the size of its young generation only when a process starts, so one with all
 * flags takes the place of this one where Node can do that: from 22.15 on, not on Windows. Elsewhere that size is V8's own.
 */
async function start(): Promise<number> {
  if (process.platform !== "win32") {
    const main = fileURLToPath(new URL("main.js", import.meta.url));
    const args = [process.execPath, ...NODE_FLAGS, ...process.execArgv, main];
    (process as Replaceable).execve?.(process.execPath, args);
  }
  setFlagsFromString("--heap-growing-percent=100");
  await import("./main.ts");
  return 0;
}

function usageFault(error: unknown): Promise<number> {
  if (!(error instanceof TypeError)) throw error;
  const [message] = error.message.split(". ", 1);
  process.stderr.write(`${message}. \`rungraph --help\` lists the options.\n`);
  return Promise.resolve(2);
}

let run: () => Promise<number>;
try {
  run = readOption()?.run ?? start;
} catch (error) {
  run = () => usageFault(error);
}
process.exitCode = await run();
