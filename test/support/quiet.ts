import { setImmediate } from "node:timers/promises";

/** Turns of the event loop after which nothing more happens, where both ends of all connections are in this process. */
const QUIET_TURNS = 40;

/** Waits until all that is under way in this process has come to its end. `happened` counts what happens. */
export async function quiet(happened: () => number): Promise<void> {
  for (let turns = 0, before = happened(); turns < QUIET_TURNS; turns++) {
    await setImmediate();
    if (happened() > before) [turns, before] = [0, happened()];
  }
}
