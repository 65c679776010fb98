import { type Config, ConfigError, readConfig, warningsOf } from "./config.ts";
import { systemCodeOf } from "./errors.ts";
import { createLog } from "./observability/log.ts";
import { printLine, printIssues, welcome } from "./cli-output.ts";
import { serve } from "./serve.ts";
import { openUpstream } from "./upstream.ts";

/** Warns that the upstream service cannot be reached. The gateway starts nevertheless. */
function warnUnreached(error: unknown): void {
  const cause = systemCodeOf(error);
  const message = `UPSTREAM_URL cannot be reached (${cause}). Until it can, answers are UPSTREAM_UNAVAILABLE.`;
  printLine("warn", message, { cause }, `Warning: ${message}`);
}

/** Calls `stop` on the first signal. A second signal exits immediately. */
function onSignal(stop: () => void): void {
  let signals = 0;
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => (signals++ === 0 ? stop() : process.exit(1)));
}

/**
 * Calls `stop` when the shell in which npx runs the command has ended. A signal to npx ends that shell. The signal reaches the command
 * itself only if the shell has replaced itself with the command, which not all shells do.
 */
function onNpxEnded(stop: () => void): void {
  if (process.env["npm_lifecycle_event"] !== "npx") return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    stop();
  }, 500);
}

function exitUnlistening({ HOST, PORT }: Config, error: unknown): never {
  if (!(error instanceof Error && "syscall" in error)) throw error;
  const code = systemCodeOf(error);
  printLine("fatal", `Cannot listen on HOST ${HOST}, PORT ${PORT}: ${code}`, { code });
  process.exit(1);
}

async function main(config: Config): Promise<void> {
  const { log } = createLog(config.LOG_LEVEL);
  for (const text of warningsOf(process.env, config)) printLine("warn", text, {}, `Warning: ${text}`);
  const { demo, options } = await openUpstream(config);
  const serving = await serve({ ...options, log }).catch((error: unknown) => exitUnlistening(config, error));
  const stop = async () => {
    log.info({}, "draining");
    await serving.drain();
    await demo?.close();
    process.exit(0);
  };
  onSignal(() => void stop());
  onNpxEnded(() => void stop());
  welcome(config, serving.port, demo);
  if (!demo) serving.reachUpstream().catch(warnUnreached);
}

// A closed stdout or stderr must not end the process.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});

try {
  await main(readConfig(process.env));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  printIssues(error);
  process.exit(2);
}
