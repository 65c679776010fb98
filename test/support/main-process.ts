import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { NO_DEADLINES } from "./patience.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The gateway as a process of its own, with these variables and no deadlines; it ends with the test at the latest. */
export const startMain = (environment: Record<string, string>, ...options: readonly string[]) =>
  startNode([...options, "--import", "tsx", "src/main.ts"], environment, ROOT);

/** The gateway that was built in a folder. */
export const startBuilt = (folder: string, environment: Record<string, string>) =>
  startNode(["dist/main.js"], environment, folder);

const startNode = (args: readonly string[], environment: Record<string, string>, folder: string) =>
  startProgram([process.execPath, ...args], environment, folder);

/** A program as a process of its own; it ends with the test at the latest. */
export function startProgram(
  [program = "", ...args]: readonly string[],
  environment: Record<string, string>,
  folder: string,
) {
  const child: ChildProcess = spawn(program, args, {
    cwd: folder,
    env: { ...NO_DEADLINES, PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  const ended = once(child, "close").then(([code]) => code as number | null);
  const told: (() => void)[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    said.out += chunk.toString();
    for (const tell of told) tell();
  });
  child.stderr?.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    ended,
    out: () => said.out,
    err: () => said.err,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Ends the reader of what it prints. */
    stopReading: () => void child.stdout?.destroy(),
    /** What it printed, once that matches. */
    printed: (expected: RegExp) =>
      Promise.race([
        new Promise<RegExpExecArray>((found) => {
          const look = () => {
            const match = expected.exec(said.out);
            if (match) found(match);
          };
          told.push(look);
          look();
        }),
        ended.then((code): never => {
          throw new Error(`it ended with ${code} before it had printed ${expected}: ${said.err}`);
        }),
      ]),
  };
}

export const READY_LINE = /Rungraph is ready: (http:\/\/\S+\/graphql)/;
