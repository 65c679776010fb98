import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const SRC = new URL("src/", ROOT);
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

test("no two modules declare constants with the same name", () => {
  expect(declaredTwice(DECLARATION)).toEqual([]);
});

test("no two modules export types with the same name", () => {
  expect(declaredTwice(EXPORTED_TYPE)).toEqual([]);
});

test("every repository file that a page mentions exists", () => {
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    ...readdirSync(new URL("docs/", ROOT)).map((name) => `docs/${name}`),
  ];
  const missing = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap((page) => {
      const prose = readFileSync(new URL(page, ROOT), "utf8").replaceAll(/^```.*?^```$/gms, "");
      const paths = [...prose.matchAll(/`((?:src|test|tools|demo|bench|schema)\/[\w./-]+\.\w+)`/g)];
      return paths.map(([, path = ""]) => `${page}: ${path}`);
    })
    .filter((line) => !existsSync(new URL(line.split(": ")[1] ?? "", ROOT)));
  expect(missing).toEqual([]);
});

test("every function that architecture.md follows is in its module", () => {
  const page = readFileSync(new URL("docs/architecture.md", ROOT), "utf8");
  const [, section = ""] = /^## Follow a request\n(.*?)^## /ms.exec(page) ?? [];
  const rows = [...section.matchAll(/^\|.*?\| `([\w/-]+\.ts)` \| (.*) \|$/gm)];
  // The names at the beginning of a cell are those of the row's module.
  const named = rows.flatMap(([, path = "", cell = ""]) =>
    [...(/^(?:`#?\w+`,? ?)+/.exec(cell)?.[0] ?? "").matchAll(/#?\w+/g)].map(([name]) => ({ path, name })),
  );
  const missing = named.filter(
    ({ path, name }) => !readFileSync(new URL(path, SRC), "utf8").match(/#?\w+/g)?.includes(name),
  );
  expect([named.length >= rows.length, missing]).toEqual([true, []]);
});
