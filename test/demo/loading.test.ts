import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);

/** The files and packages that are loaded together with a file: what it imports for more than types, and so on. */
function loadedWith(file: URL, found = new Set<string>()): Set<string> {
  if (found.has(file.href)) return found;
  found.add(file.href);
  const text = readFileSync(file, "utf8");
  for (const [, path = ""] of text.matchAll(
    /^(?:import|export)\s(?!type\b)(?:[^"';]*\sfrom\s)?"([^"]+)"/gm,
  )) {
    if (path.startsWith(".")) loadedWith(new URL(path, file), found);
    else found.add(path);
  }
  return found;
}

const isDemo = (href: string) => href.startsWith(new URL("demo/", root).href);

test.each(["main.ts", "gateway.ts"])("%s is loaded without the demo service", (name) => {
  const files = [...loadedWith(new URL(`src/${name}`, root))];
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter(isDemo)).toEqual([]);
});

test("the gateway and its demo listen before they load what only some requests need", () => {
  const start = [
    ...loadedWith(new URL("src/main.ts", root)),
    ...loadedWith(new URL("demo/service.ts", root)),
  ];
  expect(start).toContain("graphql");
  const later = new Set(["@graphql-yoga/render-graphiql/graphiql", "graphql-yoga", "yaml"]);
  expect(start.filter((each) => later.has(each))).toEqual([]);
});
