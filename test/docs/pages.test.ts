import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/errors.ts";

const ROOT = new URL("../../", import.meta.url);

/** What `find` matches in the code below these folders, in files whose names end so. */
const wordsIn = (folders: readonly string[], ending: string, find: RegExp): string[] =>
  folders
    .flatMap((folder) => readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && file.name.endsWith(ending))
    .flatMap((file) => [...readFileSync(join(file.parentPath, file.name), "utf8").matchAll(find)])
    .map(([, word = ""]) => word);

/** Packages whose errors reach callers with the code that they have there. */
const PACKAGES = [
  "graphql-yoga",
  "@envelop/core",
  "@graphql-tools/executor",
  "@graphql-tools/utils",
  "@pothos/core",
  "graphql/execution",
  "graphql/language",
  "graphql/validation",
  "graphql/utilities",
].map((name) => `node_modules/${name}/`);

/** Codes of features that are off or are called otherwise here, and of a warning of the process. */
const NEVER = new Set(["REQUEST_ENTITY_TOO_LARGE", "LRU_CACHE_UNBOUNDED"]);

test("the table of error codes holds every code of the packages, and none that nothing makes", () => {
  // The compiler holds our own sources to the table.
  const ours = wordsIn(["src/"], ".ts", /"([A-Z]+(?:_[A-Z]+)*)"/g);
  const theirs = wordsIn(PACKAGES, ".js", /\bcode\b['"\]]* *(?:\|\|)?[:=] *['"]([A-Z_]+)['"]/g);
  expect(theirs).toEqual(expect.arrayContaining([...NEVER]));
  const codes = Object.keys(ERROR_CODES);
  expect(codes).toEqual(expect.arrayContaining(theirs.filter((code) => !NEVER.has(code))));
  expect([...ours, ...theirs]).toEqual(expect.arrayContaining(codes));
});

const DOCS = readdirSync(new URL("docs/", ROOT), { recursive: true, encoding: "utf8" });
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...DOCS.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
];

/** Whether a link leads to a file and a heading that exist. */
function leadsSomewhere(target: string, page: string): boolean {
  if (/^[a-z]+:/.test(target)) return true;
  const { pathname, hash } = new URL(target, new URL(page, ROOT));
  if (hash === "" || !existsSync(pathname)) return existsSync(pathname);
  // The fragments by which GitHub links to headings.
  const headings =
    readFileSync(pathname, "utf8")
      .toLowerCase()
      .match(/^#+ .+$/gm) ?? [];
  const fragments = headings.map((heading) =>
    heading
      .replace(/^#+ /, "")
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return fragments.includes(hash.slice(1));
}

test.each(PAGES)("the links of %s lead to files and headings that exist", (page) => {
  const text = readFileSync(new URL(page, ROOT), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  expect(links.filter((target) => !leadsSomewhere(target, page))).toEqual([]);
});
