import { setImmediate } from "node:timers/promises";

/** Number of ticks after which no further event can occur if both ends of all connections are in this process. */
const QUIET_TURNS = 40;

/** Waits until all pending work in this process has ended. `happened` counts events. */
export async function quiet(happened: () => number): Promise<void> {
  for (let turns = 0, before = happened(); turns < QUIET_TURNS; turns++) {
    await setImmediate();
    if (happened() > before) [turns, before] = [0, happened()];
  }
}
