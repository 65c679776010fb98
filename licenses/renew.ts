/*
 * Writes graphiql.txt: the licenses of what is in the page of @graphql-yoga/render-graphiql, which is one file without a word
 * about its parts. `npx tsx licenses/renew.ts <lock> <folder>`: the pnpm-lock.yaml of graphql-yoga at that release, and a
 * folder into which the dependencies of its packages/graphiql were installed, with @fontsource/fira-code and
 * @vscode/codicons.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type Entry, entryOf, formatEntries } from "./entry.ts";

interface Lock {
  readonly importers: Readonly<
    Record<string, { readonly dependencies: Readonly<Record<string, { readonly version: string }>> }>
  >;
  readonly snapshots: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

/** Types only, or used by a command of the package only: none of them is in the page. */
const ABSENT = /^(?:@types\/|argparse@|csstype@|undici-types@)/;

const [lockFile = "", folder = ""] = process.argv.slice(2);
// Safe: pnpm writes it in this form.
const lock = parse(readFileSync(lockFile, "utf8")) as Lock;
const reached = new Set<string>();
const reach = (dependencies: Readonly<Record<string, string>> = {}): void => {
  for (const [name, version] of Object.entries(dependencies)) {
    const key = `${name}@${version}`;
    if (reached.has(key)) continue;
    reached.add(key);
    reach(lock.snapshots[key]?.dependencies);
  }
};
const { dependencies = {} } = lock.importers["packages/graphiql"] ?? {};
reach(Object.fromEntries(Object.entries(dependencies).map(([name, { version }]) => [name, version])));

/** The text of the installed version, which may be another one, for the version of the page. */
function entryFor(key: string): Entry[] {
  const [, name = "", version = ""] = /^(.+)@([^@]+)$/.exec(key) ?? [];
  const installed = join(folder, "node_modules", name);
  if (existsSync(installed)) return [{ ...entryOf(installed), version }];
  process.stderr.write(`${key} is not installed, thus left out\n`);
  return [];
}

const installed = (name: string) => entryOf(join(folder, "node_modules", name));
const apache = installed("@swc/helpers").text;
const fonts: Entry[] = [
  { ...installed("@fontsource/fira-code"), name: "fira-code-font", version: "5.002" },
  { ...installed("@vscode/codicons"), name: "codicon-font" },
  {
    name: "roboto-font",
    version: "3.005",
    license: "Apache-2.0",
    text: `Copyright 2011 Google Inc. All Rights Reserved.\n\n${apache}`,
  },
];
const keys = [...reached].map((key) => key.replace(/\(.*$/, "")).filter((key) => !ABSENT.test(key));
const entries = [...new Set(keys)].toSorted().flatMap(entryFor);
writeFileSync(new URL("graphiql.txt", import.meta.url), formatEntries([...entries, ...fonts]));
