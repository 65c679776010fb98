import { countsOf, measureTrips } from "./measure.ts";
import type { Place } from "./instrument.ts";
import { type TripName, tripNames } from "./trips.ts";

/**
 * `npm run road` prints what each trip through the gateway passes: its files, each with its functions and how often they
 * are called. `npm run road -- build` prints the trips that have this word in their name; `--order` prints the calls in
 * their order instead.
 */
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isInOrder = process.argv.includes("--order");

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Counts the calls by a key, most first. */
function tally(
  calls: readonly Place[],
  keyOf: (place: Place) => string,
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const place of calls) counts.set(keyOf(place), (counts.get(keyOf(place)) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

function show(name: TripName, calls: readonly Place[]): void {
  const { files, functions, calls: count, changes } = countsOf(calls);
  print(`\n## ${name}: ${files} files, ${functions} functions, ${count} calls, ${changes} changes of file\n`);
  if (isInOrder) {
    for (const [index, { file, name: called }] of calls.entries()) {
      if (calls[index - 1]?.file !== file) print(file);
      print(`    ${called}`);
    }
    return;
  }
  for (const [file, times] of tally(calls, (place) => place.file)) {
    print(`${times}\t${file}`);
    const own = calls.filter((place) => place.file === file);
    for (const [called, each] of tally(own, (place) => place.name)) print(`\t\t${each}\t${called}`);
  }
}

const chosen = tripNames.filter((name) => words.every((word) => name.includes(word)));
const measured = await measureTrips(chosen);
for (const [name, calls] of measured) show(name, calls);
