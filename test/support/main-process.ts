import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { BUILT } from "./built.ts";
import { NO_DEADLINES } from "./long-timeout.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The file that starts the gateway which was built in a folder. */
export const mainIn = (folder: string): string => join(folder, "dist/src/main.js");

/**
 * Starts the built gateway as a separate process, with these variables and no deadlines. It ends with the test at the latest. `options` are
 * options of Node.js.
 */
export const startMain = (
  environment: Record<string, string>,
  options: readonly string[] = [],
  folder = BUILT,
) => startProgram([process.execPath, ...options, mainIn(folder)], environment, ROOT);

/** Starts the gateway on a free port. Resolves when it is ready, with the address of its `/graphql`. */
export async function startReady(
  environment: Record<string, string> = {},
  ...others: [options?: readonly string[], folder?: string]
) {
  const main = startMain({ PORT: "0", ...environment }, ...others);
  const [, url = ""] = await main.printed(READY_LINE);
  return { ...main, url };
}

/** Starts a program as a separate process, without deadlines. It ends with the test at the latest. */
export function startProgram(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
) {
  const program = spawnProgram(command, { ...NO_DEADLINES, ...environment }, folder);
  onTestFinished(async () => {
    program.kill("SIGKILL");
    await program.ended;
  });
  return program;
}

/** Starts a program as a separate process that the caller must end. */
export function spawnProgram(
  [program = "", ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
) {
  const child: ChildProcess = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", err: "" };
  const ended = once(child, "close").then(([code]) => code as number | null);
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const reported: (() => void)[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    output.out += chunk.toString();
    for (const notify of reported) notify();
  });
  child.stderr?.on("data", (chunk: Buffer) => (output.err += chunk.toString()));
  return {
    pid: child.pid,
    ended,
    /** Resolves with the exit code, even while some of the output is unread. */
    exited,
    out: () => output.out,
    err: () => output.err,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Stops reading the output of the process without closing the pipe. */
    pauseReading: () => void child.stdout?.pause(),
    resumeReading: () => void child.stdout?.resume(),
    /** Closes the pipe of the output. */
    closeOutput: () => void child.stdout?.destroy(),
    /** Resolves with the first match in the output, as soon as there is one. */
    printed: (expected: RegExp) =>
      Promise.race([
        new Promise<RegExpExecArray>((found) => {
          const look = () => {
            const match = expected.exec(output.out);
            if (match) found(match);
          };
          reported.push(look);
          look();
        }),
        ended.then((code): never => {
          throw new Error(`it ended with ${code} before it had printed ${expected}: ${output.err}`);
        }),
      ]),
  };
}

export const READY_LINE = /Rungraph is ready: (http:\/\/\S+\/graphql)/;

/** The token of the demo's first user, in the line about signing in. */
export const DEMO_TOKEN = /"demo":\{"token":"([^"]+)"/;
