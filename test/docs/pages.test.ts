import { existsSync, readdirSync, readFileSync } from "node:fs";
import { buildSchema } from "graphql";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/errors.ts";
import { printPlain, printSubgraph } from "../../src/graphql/federation/subgraph.ts";
import { schema } from "../../src/graphql/schema.ts";
import { optionalEndpoints } from "../../src/rest/api/kinds.ts";

const ROOT = new URL("../../", import.meta.url);

const DOCS = readdirSync(new URL("docs/", ROOT), { recursive: true, encoding: "utf8" });
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...DOCS.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
];

/** Whether a link points to an existing file and heading. */
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

test("docs/errors.md has a row for each error code", () => {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, retry = "" }]) => `| \`${code}\` | ${status} | ${retry} | `,
  );
  const text = readFileSync(new URL("docs/errors.md", ROOT), "utf8");
  expect(text.match(/^\| `[A-Z_]+` \| \d+ \|[^|]*\| (?=\S)/gm)).toEqual(rows);
});

test("docs/server-profiles.md lists each endpoint outside the documented API", () => {
  const page = readFileSync(new URL("docs/server-profiles.md", ROOT), "utf8");
  expect(Object.keys(optionalEndpoints).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test.each(PAGES)("links in %s point to existing files and headings", (page) => {
  const text = readFileSync(new URL(page, ROOT), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  expect(links.filter((target) => !leadsSomewhere(target, page))).toEqual([]);
});

/** The SDL that a page recommends to tools, keyed by the page's words for its source. */
const SDL: Readonly<Record<string, () => string>> = {
  "--print-schema": () => printPlain(schema),
  "--print-subgraph": () => printSubgraph(schema),
  "_service { sdl }": () => printSubgraph(schema),
};

const FOR_ROUTERS = ["docs/federation.md", "docs/recipes/federation.md"];

test("SDL documented for tools other than routers has no unknown directives", () => {
  const sources = PAGES.filter((page) => ![...FOR_ROUTERS, "CHANGELOG.md"].includes(page)).flatMap((page) =>
    Object.keys(SDL)
      .filter((source) => readFileSync(new URL(page, ROOT), "utf8").includes(source))
      .map((source) => ({ page, source })),
  );
  expect(sources).toContainEqual({ page: "docs/frontend.md", source: "--print-schema" });
  for (const { page, source } of sources)
    expect(() => buildSchema(SDL[source]?.() ?? ""), `${source} of ${page}`).not.toThrow();
});
