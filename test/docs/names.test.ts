import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SRC = new URL("../../src/", import.meta.url);
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

const DECLARATION = /^(?:export )?const ([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*) = (.+)$/gm;
const EXPORTED_TYPE = /^export (?:interface|type|(?:abstract )?class) (\w+)/gm;

/** The names that match in several files, with their files. */
function declaredTwice(pattern: RegExp): string[] {
  const files = new Map<string, string[]>();
  for (const path of FILES)
    for (const [, name = ""] of readFileSync(new URL(path, SRC), "utf8").matchAll(pattern))
      files.set(name, [...(files.get(name) ?? []), path]);
  return [...files]
    .filter(([, paths]) => new Set(paths).size > 1)
    .map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}

test("no two modules declare a constant of one name", () => {
  expect(declaredTwice(DECLARATION)).toEqual([]);
});

test("no two modules export a type of one name", () => {
  expect(declaredTwice(EXPORTED_TYPE)).toEqual([]);
});
