import { fileURLToPath } from "node:url";
import { BUILT } from "./built.ts";
import { mainIn, READY_LINE, spawnProgram } from "./main-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>;

/**
 * The gateway as a separate process, so that a crash does not end the tests. Without an upstream it has the embedded demo. `program` is the
 * file that starts it, with options of Node.js before it.
 */
export async function startGatewayProcess(
  upstreamUrl: string | null,
  env: Readonly<Record<string, string>> = {},
  program: readonly string[] = [mainIn(BUILT)],
) {
  const upstream: Record<string, string> = upstreamUrl === null ? {} : { UPSTREAM_URL: upstreamUrl };
  const environment = { PORT: "0", LOG_LEVEL: "silent", ...upstream, ...env };
  const { pid, ended, out, err, kill, printed } = spawnProgram(
    [process.execPath, ...program],
    environment,
    ROOT,
  );
  const [, graphql = ""] = await printed(READY_LINE);
  const url = new URL(graphql).origin;
  return {
    url,
    // Safe: a process that printed its address has been started.
    pid: pid ?? 0,
    /** All that it wrote so far. */
    output: () => out() + err(),
    /** Throws an error with its output if it has ended. */
    expectAlive: async () => {
      const lives = await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (!lives) throw new Error(`the gateway ended: ${await ended}: ${err()}`);
    },
    kill: async () => {
      kill("SIGKILL");
      await ended;
    },
  };
}
