import { setImmediate } from "node:timers/promises";

/**
 * If nothing happens for this number of ticks, nothing more will happen. This requires that both ends of all connections are in this
 * process.
 */
const QUIET_TICKS = 40;

/** Waits until all pending work in this process has ended. `happened` counts events. */
export async function quiet(happened: () => number): Promise<void> {
  for (let ticks = 0, before = happened(); ticks < QUIET_TICKS; ticks++) {
    await setImmediate();
    if (happened() > before) [ticks, before] = [0, happened()];
  }
}
