import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * Pins this process and its children to every core but the first, which stays free for the measured server. Returns the first core as an
 * argument of `taskset`, or null if `taskset` or a second core is missing.
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

/** Prefixes a command with `taskset` to run it on the core. With null, the command stays as it is. */
export function onCore(
  core: string | null,
  command: readonly string[],
): readonly [file: string, parameters: readonly string[]] {
  const [file = "", ...parameters] = core ? ["taskset", "-c", core, ...command] : command;
  return [file, parameters];
}
