import { createHash } from "node:crypto";
import { availableParallelism, loadavg } from "node:os";

/** The work whose time is measured. It takes a core a few hundred milliseconds, in which other programs may also use the core. */
const ROUNDS = 300;
const BLOCK = Buffer.alloc(1_000_000, "a");

/** How long the work takes on an idle machine of the year 2020, in milliseconds. */
const IDLE_MS = 250;

/**
 * The slowness is at least 2, because other programs may start later. It is at most 30, so that a test that hangs fails within a working
 * day.
 */
const LEAST = 2;
const MOST = 30;

const SLOWNESS = "TEST_SLOWNESS";

/** The factor by which programs take longer than on an idle machine, from a measurement or from the number of processes per core. */
export function slownessOf(workMs: number, load: number, cores: number): number {
  const slowness = Math.max(workMs / IDLE_MS, load / cores);
  return Math.min(Math.max(Math.ceil(slowness * LEAST), LEAST), MOST);
}

/** Measures the machine once per run, and passes the result to the test processes. */
export function measureMachine(): void {
  if (process.env[SLOWNESS] !== undefined) return;
  const began = performance.now();
  const hash = createHash("sha256");
  for (let round = 0; round < ROUNDS; round += 1) hash.update(BLOCK);
  hash.digest();
  const [load = 0] = loadavg();
  const slowness = slownessOf(performance.now() - began, load, availableParallelism());
  process.env[SLOWNESS] = `${slowness}`;
  if (slowness > LEAST)
    process.stdout.write(`The machine is busy or slow: limits of time in tests are ${slowness}-fold.\n`);
}

/** Converts a timeout for an idle machine to a timeout for this machine. Both are in milliseconds. */
export const within = (ms: number): number => ms * Number(process.env[SLOWNESS] ?? LEAST);
