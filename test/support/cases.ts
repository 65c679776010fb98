/** Whether all cases run, as in CI. Skipped cases are reported at the end of a run. */
export const isFull = process.env["FULL"] === "1";

/** The number of cases that a property test runs: few, or the full number in CI, where `FULL=1` is set. */
export const cases = (few: number, full: number): number => (isFull ? full : few);

/** Every nth of many cases, starting with a different case for each `offset`. In CI, every `inFull`th case; by default all of them. */
export const everyNth = <Case>(all: readonly Case[], n: number, offset: number, inFull = 1): Case[] =>
  all.filter((_, index) => (index + offset) % cases(n, inFull) === 0);

/** The rows of all tables of a page, each as a list of its cells. */
export const tableIn = (page: string): string[][] =>
  [...page.matchAll(/^\| (.*) \|$/gm)].map(([, line = ""]) => line.split("|").map((cell) => cell.trim()));
