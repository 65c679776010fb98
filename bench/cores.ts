import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * Moves this process, and those that it forks, to all cores but the first, which is left to what is measured. Returns that
 * core as `taskset` takes it; null where `taskset` or a second core is missing.
 */
export function leaveFirstCore(): string | null {
  const last = availableParallelism() - 1;
  if (last < 1) return null;
  try {
    execFileSync("taskset", ["-cp", `1-${last}`, String(process.pid)], { stdio: "ignore" });
    return "0";
  } catch {
    return null;
  }
}

/** The command on this core; as it is where there is none. */
export function onCore(
  core: string | null,
  command: readonly string[],
): readonly [file: string, parameters: readonly string[]] {
  const [file = "", ...parameters] = core ? ["taskset", "-c", core, ...command] : command;
  return [file, parameters];
}
