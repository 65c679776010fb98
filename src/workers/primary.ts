import cluster, { type Address, type Worker } from "node:cluster";
import type { Log } from "../log.ts";
import { CannotListen } from "../serve.ts";
import { watchHeartbeat } from "./heartbeat.ts";
import type { ToPrimary, Upstream } from "./messages.ts";
import { collectMetrics, send } from "./reports.ts";

interface Settings {
  readonly count: number;
  readonly upstream: Upstream;
  readonly log: Log;
  /** Longest time that requests in flight may take after `drain`, in milliseconds. */
  readonly drainTimeoutMs: number;
}

export interface Workers {
  /** The port on which all workers listen. */
  readonly port: number;
  /** Makes all workers complete their requests and exit. Resolves with whether all exited with code 0. */
  readonly drain: () => Promise<boolean>;
  /** Makes all workers read the files that settings name again. */
  readonly reload: () => void;
  readonly kill: () => void;
}

/** A worker that lives this long counts as sound, in milliseconds. */
const SOUND_MS = 60_000;

/** Delay before a dead worker is replaced: none at first, then doubled with each that dies early, in milliseconds. */
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** Time that workers have for their exit after `drainTimeoutMs`, in milliseconds. */
const EXIT_MS = 5_000;

/**
 * Starts workers that share one port, and replaces those that die or hang. Resolves when all listen. Rejects with
 * `CannotListen`, or when a worker dies before.
 */
export async function startWorkers(settings: Settings): Promise<Workers> {
  const { count, upstream, log } = settings;
  const running = new Set<Worker>();
  const listening = new Set<Worker>();
  const restarts = new Set<NodeJS.Timeout>();
  let isDraining = false;
  let earlyDeaths = 0;

  /** Collects once for all who ask meanwhile. */
  let collecting: Promise<string> | null = null;
  const answerMetrics = async (worker: Worker, id: number): Promise<void> => {
    collecting ??= collectMetrics(listening).finally(() => (collecting = null));
    send(worker, { type: "metrics", id, text: await collecting });
  };

  /** Starts a worker. Resolves when it listens, rejects when it dies before. */
  const start = (): Promise<Address> =>
    new Promise((resolve, reject) => {
      const worker = cluster.fork();
      const { pid } = worker.process;
      const began = performance.now();
      running.add(worker);
      worker.on("message", (message: ToPrimary) => {
        if (message.type === "awake")
          send(worker, isDraining ? { type: "drain" } : { type: "start", upstream });
        if (message.type === "cannot listen") reject(new CannotListen(message.code));
        if (message.type === "metrics wanted") void answerMetrics(worker, message.id);
      });
      worker.once("listening", (address) => {
        listening.add(worker);
        log.info({ pid }, "worker ready");
        watchHeartbeat(worker, () => {
          log.error({ pid }, "worker hangs");
          worker.process.kill("SIGKILL");
        });
        resolve(address);
      });
      worker.once("exit", (code, signal) => {
        running.delete(worker);
        listening.delete(worker);
        reject(new Error(`a worker ended before it listened (${signal ?? code})`));
        if (isDraining) return;
        earlyDeaths = performance.now() - began < SOUND_MS ? earlyDeaths + 1 : 0;
        const delayMs = earlyDeaths < 2 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (earlyDeaths - 2));
        log.error({ pid, code, signal, delayMs }, "worker died");
        restart(delayMs);
      });
    });

  const restart = (delayMs: number): void => {
    const timer = setTimeout(() => {
      restarts.delete(timer);
      // Its death is handled like that of any other worker.
      start().catch(() => {});
    }, delayMs);
    restarts.add(timer);
  };

  const kill = (): void => {
    isDraining = true;
    for (const timer of restarts) clearTimeout(timer);
    for (const worker of running) worker.process.kill("SIGKILL");
  };

  const drain = async (): Promise<boolean> => {
    isDraining = true;
    for (const timer of restarts) clearTimeout(timer);
    const exits = [...running].map(
      (worker) => new Promise<boolean>((ended) => worker.once("exit", (code) => ended(code === 0))),
    );
    for (const worker of running) send(worker, { type: "drain" });
    setTimeout(kill, settings.drainTimeoutMs + EXIT_MS).unref();
    return (await Promise.all(exits)).every(Boolean);
  };

  const reload = (): void => {
    for (const worker of running) send(worker, { type: "reload" });
  };

  try {
    const [first] = await Promise.all(Array.from({ length: count }, start));
    return { port: first?.port ?? 0, drain, reload, kill };
  } catch (error) {
    kill();
    throw error;
  }
}
