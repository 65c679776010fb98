import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SETTINGS } from "../../src/config.ts";
import { ERROR_CODES } from "../../src/errors.ts";

const ROOT = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", ROOT), "utf8");

/** The first column of a table's rows that is code. */
const rowsBelow = (heading: string): string[] => {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
};

test("the README names every setting and no other", () => {
  expect(rowsBelow("Settings").toSorted()).toEqual([...SETTINGS].toSorted());
});

test("the README tells the versions of clients and routers that are tried", () => {
  const told = [...readme.matchAll(/^\| `([^`]+)` \| (\d+\.[\d.]+) \|/gm)].map(([, name, version]) => [
    name,
    version,
  ]);
  const file = readFileSync(new URL("../../ecosystem/package.json", import.meta.url), "utf8");
  const { dependencies } = JSON.parse(file) as { dependencies: Record<string, string> };
  // The others are what these stand on.
  const base = new Set(["@apollo/server", "@apollo/subgraph", "graphql", "rxjs"]);
  expect(told.toSorted()).toEqual(
    Object.entries(dependencies)
      .filter(([name]) => !base.has(name))
      .toSorted(),
  );
});

/** What `find` matches in the code below these folders. */
const wordsIn = (folders: readonly string[], names: RegExp, find: RegExp): string[] =>
  folders
    .flatMap((folder) => readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && names.test(file.name) && !file.parentPath.includes("src/demo"))
    .flatMap((file) => [...readFileSync(join(file.parentPath, file.name), "utf8").matchAll(find)])
    .map(([, word = ""]) => word);

/** Packages whose errors reach callers with the code that they have there. */
const PACKAGES = [
  "graphql-yoga",
  "@envelop/core",
  "@graphql-tools/executor",
  "@graphql-tools/utils",
  "@apollo/subgraph",
  "@graphql-yoga/plugin-apq",
  "@graphql-yoga/plugin-persisted-operations",
  "@graphql-yoga/plugin-disable-introspection",
  "@escape.tech/graphql-armor-max-aliases",
  "@escape.tech/graphql-armor-max-depth",
  "@pothos/core",
  "@pothos/plugin-federation",
  "graphql/execution",
  "graphql/language",
  "graphql/validation",
  "graphql/utilities",
].map((name) => `node_modules/${name}/`);

/** Codes of features that are off or are called otherwise here, and of a warning of the process. */
const NEVER = new Set(["REQUEST_ENTITY_TOO_LARGE", "CANNOT_SEND_PQ_ID_AND_BODY", "LRU_CACHE_UNBOUNDED"]);

test("the table of error codes holds every code of the packages, and none that nothing makes", () => {
  // The compiler holds our own sources to the table.
  const ours = wordsIn(["src/"], /\.ts$/, /"([A-Z]+(?:_[A-Z]+)*)"/g);
  const theirs = wordsIn(PACKAGES, /\.js$/, /\bcode\b['"\]]* *(?:\|\|)?[:=] *['"]([A-Z_]+)['"]/g);
  expect(theirs).toEqual(expect.arrayContaining([...NEVER]));
  const codes = Object.keys(ERROR_CODES);
  expect(codes).toEqual(expect.arrayContaining(theirs.filter((code) => !NEVER.has(code))));
  expect([...ours, ...theirs]).toEqual(expect.arrayContaining(codes));
});

test("the README's error codes are those of the table, with their HTTP status and meaning", () => {
  const section = readme.split("\n## Error codes\n")[1]?.split("\n## ")[0] ?? "";
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, meaning }]) => `| \`${code}\` | ${status} | ${meaning} |`,
  );
  expect(section.match(/^\| `.*$/gm)).toEqual(rows);
});
