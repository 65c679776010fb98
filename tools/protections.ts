import { readFileSync } from "node:fs";

/** A row of the table of protections in CONTRIBUTING. */
export interface Protection {
  readonly what: string;
  /** The test that is red without it: its file, and its title as it stands there. */
  readonly test: { readonly path: string; readonly title: string };
  /** The change that was tried: one text of a file becomes another. */
  readonly change: { readonly path: string; readonly from: RegExp; readonly to: string };
}

const CHANGE = /^`(src\/\S+)`: (`+) ?(.+?) ?\2(?: → (`+) ?(.+?) ?\4| removed)$/;

const exactly = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

function rowOf(line: string): Protection {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const [, what = "", test = "", change = ""] = cells;
  const [, testPath = "", title = ""] = /^`(test\/\S+)`: (.+)$/.exec(test) ?? [];
  const [, path = "", , from = "", , to = ""] = CHANGE.exec(change) ?? [];
  // A blank of the table is any white space of the file.
  const pattern = new RegExp(from.split(" ").map(exactly).join("\\s+"), "g");
  return { what, test: { path: testPath, title }, change: { path, from: pattern, to } };
}

const page = readFileSync(new URL("../CONTRIBUTING.md", import.meta.url), "utf8");
const [, section = ""] = page.split("\n## Protections\n");

/** The rows of the table, which `npm run mutants` tries and a test compares with the files. */
export const PROTECTIONS: readonly Protection[] = section
  .split("\n## ", 1)
  .flatMap((text) => text.split("\n").filter((line) => line.startsWith("|")))
  .slice(2)
  .map(rowOf);

/** Matches the titles of a test: those of `test.each` have values where its title has `%s` or `$name`. */
export const titlePattern = (title: string): string =>
  title
    .split(/%[a-z]|\$\w+/)
    .map(exactly)
    .join(".*");
