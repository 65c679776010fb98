import { buildInstrumented, type Place } from "./instrument.ts";
import { settle, startTraveller } from "./traveller.ts";
import { SERVICE, type Trip, type TripName, tripNames, TRIPS } from "./trips.ts";

const WARM_UP = 20;
const ROUNDS = 9;

/** The calls of each trip, once everything is warm. */
export async function measureTrips(
  names: readonly TripName[] = tripNames,
): Promise<ReadonlyMap<TripName, readonly Place[]>> {
  const code = await buildInstrumented();
  const measured = new Map<TripName, readonly Place[]>();
  try {
    for (const name of names) {
      const { begin, go, shows }: Trip = TRIPS[name];
      const { traveller, close } = await startTraveller(code, SERVICE);
      await begin?.(traveller);
      const rounds: (readonly Place[])[] = [];
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        await settle();
        code.forget();
        const text = await go(traveller);
        await settle();
        if (!text.includes(shows)) throw new Error(`${name}: expected ${shows}, got ${text}`);
        if (round >= WARM_UP) rounds.push(code.calls());
      }
      await close();
      // What a timer calls meanwhile is in few of them.
      const sorted = rounds.toSorted((one, other) => one.length - other.length);
      measured.set(name, sorted[Math.floor(ROUNDS / 2)] ?? []);
    }
  } finally {
    await code.remove();
  }
  return measured;
}

/** The files, functions and calls of a trip, and how often the function called next is in another file. */
export const countsOf = (calls: readonly Place[]) => ({
  files: new Set(calls.map(({ file }) => file)).size,
  functions: new Set(calls).size,
  calls: calls.length,
  changes: calls.filter(({ file }, index) => index > 0 && calls[index - 1]?.file !== file).length,
});
