import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { BUILT } from "../support/built.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Licenses of code that may be passed on with code under MIT. */
const PERMITTED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
]);

/** What the build says of each package of which it has code. */
const packages = readFileSync(join(BUILT, "dist/licenses.txt"), "utf8")
  .split(/^-{80}\n\n/m)
  .map((entry) => {
    const [heading = "", ...text] = entry.split("\n");
    const [, name = "", version = "", license = ""] = /^(\S+) (\S+), (.*)$/.exec(heading) ?? [];
    return { name, version, license, text: text.join("\n").trim() };
  });

test("the build has code only of packages under permissive licenses", () => {
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(["graphql", "undici", "zod"]));
  expect(
    packages
      .filter(({ license }) => !PERMITTED.has(license))
      .map(({ name, license }) => `${name}: ${license}`),
  ).toEqual([]);
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** The folders in which a package is installed in one version. */
const foldersOf = (name: string, version: string): string[] =>
  Object.entries((JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock).packages)
    .filter(([folder, installed]) => folder.endsWith(`node_modules/${name}`) && installed.version === version)
    .map(([folder]) => join(ROOT, folder));

test("each package is listed once, with the text of its license where it has one", () => {
  const names = packages.map(({ name, version }) => `${name} ${version}`);
  expect(names).toEqual([...new Set(names)]);
  const withoutText = packages.filter(({ text }) => text === "");
  const overlooked = withoutText.filter(({ name, version }) => {
    const folders = foldersOf(name, version);
    expect(folders).not.toEqual([]);
    return folders.some((folder) => readdirSync(folder).some((file) => /licen[cs]e|copying/i.test(file)));
  });
  expect(overlooked).toEqual([]);
});
