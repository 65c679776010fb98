import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isEnumType } from "graphql";
import { expect, test } from "vitest";
import { SETTINGS } from "../../src/config.ts";
import { ERROR_CODES } from "../../src/errors.ts";
import { schema } from "../../src/graphql/schema.ts";
import { callsOf, startDemoGateway } from "../support/demo-gateway.ts";

const ROOT = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", ROOT), "utf8");

/** The fenced blocks of one language, in order. */
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, text = ""]) => text);

/** The first column of a table's rows that is code. */
const rowsBelow = (heading: string): string[] => {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
};

test("the README's query gives the README's answer, by the README's requests", async () => {
  const { ask, demo } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const [query = ""] = blocks("graphql");
  expect(await ask<unknown, object>(query)).toEqual(JSON.parse(blocks("json")[0] ?? ""));
  const requests = (blocks("http")[0] ?? "").trim().split("\n");
  expect(callsOf(demo)).toEqual(requests.toSorted());
});

test("its commands do what it says", async () => {
  const { ask } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const [, signIn = "", stop = ""] = blocks("graphql");
  const { data } = await ask<{ login: object }, object>(signIn, {}, { token: null });
  expect(data.login).toEqual({ token: expect.any(String), user: { username: "ada", isSuperuser: true } });
  expect(await ask<unknown, object>(stop)).toEqual(JSON.parse(blocks("json")[1] ?? ""));
});

test("it names every setting and no other", () => {
  expect(rowsBelow("Settings").toSorted()).toEqual([...SETTINGS].toSorted());
});

test("it tells the versions of clients and routers that are tried", () => {
  const told = [...readme.matchAll(/^\| `([^`]+)` \| (\d+\.[\d.]+) \|/gm)].map(([, name, version]) => [
    name,
    version,
  ]);
  const file = readFileSync(new URL("../../ecosystem/package.json", import.meta.url), "utf8");
  const { dependencies } = JSON.parse(file) as { dependencies: Record<string, string> };
  // The others are what these stand on.
  const base = new Set(["@apollo/server", "@apollo/subgraph", "graphql", "rxjs"]);
  expect(told.toSorted()).toEqual(
    Object.entries(dependencies)
      .filter(([name]) => !base.has(name))
      .toSorted(),
  );
});

/** What `find` matches in the code below these folders. */
const wordsIn = (folders: readonly string[], names: RegExp, find: RegExp): string[] =>
  folders
    .flatMap((folder) => readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && names.test(file.name) && !file.parentPath.includes("src/demo"))
    .flatMap((file) => [...readFileSync(join(file.parentPath, file.name), "utf8").matchAll(find)])
    .map(([, word = ""]) => word);

/** Words in capitals that our sources hold for another reason. */
const NO_CODES = new Set([
  "GET",
  "HEAD",
  "POST",
  "PATCH",
  "DELETE",
  "SIGTERM",
  "SIGINT",
  "ID",
  "JSON",
  "OK",
  "UNKNOWN",
  "CANCELLED", // in metrics and logs only
  ...Object.values(schema.getTypeMap())
    .filter(isEnumType)
    .flatMap((type) => type.getValues().map(({ name }) => name)),
]);

/** Packages whose errors reach callers with the code that they have there. */
const PACKAGES = [
  "graphql-yoga",
  "@envelop/core",
  "@graphql-tools/executor",
  "@graphql-tools/utils",
  "@apollo/subgraph",
  "@graphql-yoga/plugin-apq",
  "@graphql-yoga/plugin-persisted-operations",
  "@graphql-yoga/plugin-disable-introspection",
  "@escape.tech/graphql-armor-max-aliases",
  "@escape.tech/graphql-armor-max-depth",
  "@pothos/core",
  "@pothos/plugin-federation",
  "graphql/execution",
  "graphql/language",
  "graphql/validation",
  "graphql/utilities",
].map((name) => `node_modules/${name}/`);

/** Codes of features that are off or are called otherwise here, and of a warning of the process. */
const NEVER = new Set(["REQUEST_ENTITY_TOO_LARGE", "CANNOT_SEND_PQ_ID_AND_BODY", "LRU_CACHE_UNBOUNDED"]);

test("the table of error codes holds every code that can leave the gateway, and no other", () => {
  const ours = wordsIn(["src/"], /\.ts$/, /"([A-Z]+(?:_[A-Z]+)*)"/g).filter((word) => !NO_CODES.has(word));
  const theirs = wordsIn(PACKAGES, /\.js$/, /\bcode\b['"\]]* *(?:\|\|)?[:=] *['"]([A-Z_]+)['"]/g);
  expect(theirs).toEqual(expect.arrayContaining([...NEVER]));
  const codes = new Set([...ours, ...theirs.filter((code) => !NEVER.has(code))]);
  expect(Object.keys(ERROR_CODES).toSorted()).toEqual([...codes].toSorted());
});

test("the README's error codes are those of the table, with their HTTP status and meaning", () => {
  const section = readme.split("\n## Error codes\n")[1]?.split("\n## ")[0] ?? "";
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, meaning }]) => `| \`${code}\` | ${status} | ${meaning} |`,
  );
  expect(section.match(/^\| `.*$/gm)).toEqual(rows);
});
