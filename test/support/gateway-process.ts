import { fileURLToPath } from "node:url";
import { BUILT } from "./built.ts";
import { mainIn, READY_LINE, spawnProgram } from "./main-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>;

/**
 * Starts the gateway as a separate process, so that a crash does not end the tests. Without an upstream URL, the gateway uses the embedded
 * demo. `program` is the file that starts the gateway, preceded by options of Node.js.
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
    // Safe: a process that has printed its address has a pid.
    pid: pid ?? 0,
    /** All output of the process so far. */
    output: () => out() + err(),
    /** Throws an error with the output of the process if the gateway no longer responds. */
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
