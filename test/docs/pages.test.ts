import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/errors.ts";

const ROOT = new URL("../../", import.meta.url);

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

test("docs/errors.md has the row of each code", () => {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, retry = "" }]) => `| \`${code}\` | ${status} | ${retry} | `,
  );
  const text = readFileSync(new URL("docs/errors.md", ROOT), "utf8");
  expect(text.match(/^\| `[A-Z_]+` \| \d+ \|[^|]*\| (?=\S)/gm)).toEqual(rows);
});

test.each(PAGES)("the links of %s lead to files and headings that exist", (page) => {
  const text = readFileSync(new URL(page, ROOT), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  expect(links.filter((target) => !leadsSomewhere(target, page))).toEqual([]);
});
