import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FIXED } from "../../src/config/bounds.ts";
import { ERROR_CODES } from "../../src/errors.ts";

const ROOT = new URL("../../", import.meta.url);

/** What `find` matches in the code below these folders. */
const wordsIn = (folders: readonly string[], names: RegExp, find: RegExp): string[] =>
  folders
    .flatMap((folder) => readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && names.test(file.name))
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
  const ours = wordsIn(["src/"], /\.ts$/, /"([A-Z]+(?:_[A-Z]+)*)"/g);
  const theirs = wordsIn(PACKAGES, /\.js$/, /\bcode\b['"\]]* *(?:\|\|)?[:=] *['"]([A-Z_]+)['"]/g);
  expect(theirs).toEqual(expect.arrayContaining([...NEVER]));
  const codes = Object.keys(ERROR_CODES);
  expect(codes).toEqual(expect.arrayContaining(theirs.filter((code) => !NEVER.has(code))));
  expect([...ours, ...theirs]).toEqual(expect.arrayContaining(codes));
});

test("no page and no sample names a setting that is fixed", () => {
  const named = wordsIn(["docs/", "deploy/"], /\./, /\b([A-Z]+(?:_[A-Z]+)+)\b/g);
  expect(named.filter((name) => name in FIXED)).toEqual([]);
});

const textOf = (page: string) => readFileSync(new URL(page, ROOT), "utf8");

const PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", ...pagesIn("docs/")];

function pagesIn(folder: string): string[] {
  return readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}${name}`);
}

/** The fragments by which GitHub links to the headings of a text. */
const fragmentsOf = (text: string, marks = "#+") =>
  [...text.matchAll(new RegExp(`^${marks} (.+)$`, "gm"))].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

/** Whether a link leads to a file and a heading that exist. */
function leadsSomewhere(target: string, page: string): boolean {
  if (/^[a-z]+:/.test(target)) return true;
  const { pathname, hash } = new URL(target, new URL(page, ROOT));
  if (!existsSync(pathname)) return false;
  return hash === "" || fragmentsOf(readFileSync(pathname, "utf8")).includes(hash.slice(1));
}

test.each(PAGES)("the links of %s lead to files and headings that exist", (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  expect(links.filter((target) => !leadsSomewhere(target, page))).toEqual([]);
});

const long = pagesIn("docs/").filter((page) => textOf(page).split("\n").length > 150);

test.each(long)("%s has contents at its top, because it is long", (page) => {
  const contents = /^Contents: ([^]*?)\n\n/m.exec(textOf(page))?.[1] ?? "";
  expect([...contents.matchAll(/\(#([^)]+)\)/g)].map(([, fragment]) => fragment)).toEqual(
    fragmentsOf(textOf(page), "##"),
  );
});
