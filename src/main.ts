import { isatty } from "node:tty";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { createLog } from "./observability/log.ts";
import { tell, tellFaults, warnOfMisspelled, welcome } from "./print.ts";
import { CannotListen, codeOf, serve } from "./serve.ts";
import { optionsOf, startDemo, upstreamOf } from "./upstream.ts";

/** Warns when the service cannot be reached. The gateway starts without it. */
async function warnUnlessReached(reached: Promise<void>): Promise<void> {
  try {
    await reached;
  } catch (error) {
    const cause = codeOf(error);
    const message = `UPSTREAM_URL cannot be reached (${cause}). Until it can, answers are UPSTREAM_UNAVAILABLE.`;
    tell("warn", message, { cause }, `Warning: ${message}`);
  }
}

/**
 * Calls `stop` on the first signal. A second signal exits immediately. `cli.ts` may be the parent of this process: when it
 * is killed, the channel to it ends.
 */
function onSignal(stop: () => void, exitNow: () => void): void {
  const first = () => {
    process.off("disconnect", first);
    for (const signal of ["SIGTERM", "SIGINT"]) {
      process.off(signal, first);
      process.once(signal, exitNow);
    }
    stop();
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, first);
  process.once("disconnect", first);
}

/** Calls back on each SIGHUP. In a terminal it ends the process, as it ends all that run there. */
function onHangup(reload: () => void): void {
  if (!isatty(0)) process.on("SIGHUP", reload);
}

/** Ends the process when the address cannot be listened on. */
function exitUnlistening({ HOST, PORT }: Config, error: unknown): never {
  if (!(error instanceof CannotListen)) throw error;
  tell("fatal", `Cannot listen on HOST ${HOST}, PORT ${PORT}: ${error.message}`, { code: error.message });
  process.exit(1);
}

/** Serves in this process. */
async function runAlone(config: Config): Promise<void> {
  const { log } = createLog(config.LOG_LEVEL);
  const demo = await startDemo(config);
  const options = { ...optionsOf(config, upstreamOf(config, demo)), log, environment: process.env };
  const serving = await serve(options).catch((error: unknown) => exitUnlistening(config, error));
  const stop = async () => {
    log.info("draining");
    await serving.drain();
    await demo?.close();
    process.exit(0);
  };
  onSignal(
    () => void stop(),
    () => process.exit(1),
  );
  onHangup(serving.reload);
  welcome(config, serving.port, demo);
  if (!demo) void warnUnlessReached(serving.reachUpstream());
}

/** Serves in workers. This process has the demo, so that all workers see the same. */
async function runPrimary(config: Config): Promise<void> {
  const { startWorkers } = await import("./workers/primary.ts");
  const { log } = createLog(config.LOG_LEVEL);
  const demo = await startDemo(config);
  const settings = { count: config.WORKERS, drainTimeoutMs: config.DRAIN_TIMEOUT_MS, log };
  const workers = await startWorkers({ ...settings, upstream: upstreamOf(config, demo) }).catch(
    (error: unknown) => exitUnlistening(config, error),
  );
  const stop = async () => {
    log.info("draining");
    const isClean = await workers.drain();
    await demo?.close();
    process.exit(isClean ? 0 : 1);
  };
  const exitNow = () => {
    workers.kill();
    process.exit(1);
  };
  onSignal(() => void stop(), exitNow);
  onHangup(workers.reload);
  welcome(config, workers.port, demo);
}

/** Serves in this process as one of the workers. */
async function runWorker(config: Config, isFirst: boolean): Promise<void> {
  const worker = await import("./workers/worker.ts");
  worker.runWorker(async (upstream, metricsOf) => {
    const { log } = createLog(config.LOG_LEVEL);
    const options = { ...optionsOf(config, upstream), log, environment: process.env };
    const serving = await serve({ ...options, metricsOf });
    // To the process group, or to this worker alone.
    onHangup(serving.reload);
    if (isFirst && upstream.exampleToken === null) void warnUnlessReached(serving.reachUpstream());
    return serving;
  });
}

async function main(config: Config): Promise<void> {
  if (config.WORKERS > 1) {
    const { default: cluster } = await import("node:cluster");
    if (cluster.worker) return runWorker(config, cluster.worker.id === 1);
    warnOfMisspelled();
    return runPrimary(config);
  }
  warnOfMisspelled();
  return runAlone(config);
}

// A closed stdout or stderr must not end the process.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});

try {
  await main(readConfig(process.env));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  tellFaults(error);
  process.exit(2);
}
