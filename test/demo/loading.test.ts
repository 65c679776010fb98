import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const source = new URL("../../src/", import.meta.url);

/** The files that are loaded together with one: what it imports for more than types, and so on. */
function loadedWith(file: URL, found = new Set<string>()): Set<string> {
  if (found.has(file.href)) return found;
  found.add(file.href);
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export)\s(?!type\b)[^"';]*"(\.[^"]+)"/gm);
  for (const [, path = ""] of imports) loadedWith(new URL(path, file), found);
  return found;
}

const isDemo = (href: string) => href.startsWith(new URL("demo/", source).href);

test.each(["main.ts", "gateway.ts"])("%s is loaded without the demo service", (name) => {
  const files = [...loadedWith(new URL(name, source))];
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter(isDemo)).toEqual([]);
});

test("the demo service is loaded without the rest of the gateway", () => {
  const files = [...loadedWith(new URL("demo/service.ts", source))];
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((href) => !isDemo(href))).toEqual([]);
});
