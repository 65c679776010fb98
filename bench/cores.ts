import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Cores as `taskset` takes them. */
export interface Cores {
  readonly first: string;
  readonly all: string;
}

/**
 * Moves this process, and those that it forks, to all cores but the first, which is left to what is measured. Null where
 * `taskset` or a second core is missing.
 */
export function leaveFirstCore(): Cores | null {
  const last = availableParallelism() - 1;
  if (last < 1) return null;
  try {
    execFileSync("taskset", ["-cp", `1-${last}`, String(process.pid)], { stdio: "ignore" });
    return { first: "0", all: `0-${last}` };
  } catch {
    return null;
  }
}

/** The command on these cores; as it is where there are none. */
export function onCores(
  cores: string | undefined,
  command: readonly string[],
): readonly [file: string, parameters: readonly string[]] {
  const [file = "", ...parameters] = cores ? ["taskset", "-c", cores, ...command] : command;
  return [file, parameters];
}
