import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { BUILT } from "./built.ts";
import { mainIn } from "./main-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  /** What it wrote before it ended; null while it runs. */
  readonly lastWords: () => string | null;
  /** All that it wrote so far. */
  readonly said: () => string;
  /** Throws what it wrote before it ended, unless it lives. */
  readonly expectAlive: () => Promise<void>;
  readonly kill: () => Promise<void>;
}

/**
 * The gateway as a process of its own: what ends it does not end the tests. Without an upstream it has the embedded
 * demo. `program` is the file that starts it, with options of Node in front.
 */
export async function startGatewayProcess(
  upstreamUrl: string | null,
  env: Readonly<Record<string, string>> = {},
  program: readonly string[] = [mainIn(BUILT)],
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, program, {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      LOG_LEVEL: "silent",
      ...(upstreamUrl === null ? {} : { UPSTREAM_URL: upstreamUrl }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, "close");
  const lastWords = () =>
    child.exitCode === null && child.signalCode === null
      ? null
      : `${child.exitCode ?? child.signalCode}: ${said.err}`;
  const url = await vi.waitUntil(
    () => {
      const words = lastWords();
      if (words !== null) throw new Error(`the gateway did not start: ${words}`);
      return /Rungraph is ready: (http:\/\/\S+)\/graphql/.exec(said.out)?.[1];
    },
    { timeout: 60_000, interval: 5 },
  );
  return {
    url,
    // A process that printed its address has been started.
    pid: child.pid ?? 0,
    lastWords,
    said: () => said.out + said.err,
    expectAlive: async () => {
      const lives = await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (lives) return;
      await ended;
      throw new Error(`the gateway ended: ${lastWords()}`);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
