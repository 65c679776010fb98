import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SETTINGS } from "../../src/config.ts";
import { callsOf, startDemoGateway } from "../harness.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

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
  const told = [...readme.matchAll(/^\| `([^`]+)` \| (\d[\d.]+) \|/gm)].map(([, name, version]) => [
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

test("it explains every error code that the sources can give", () => {
  const told = readFileSync(new URL("../../src/rest/errors.ts", import.meta.url), "utf8");
  const codes = [...told.matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(10);
  expect(rowsBelow("Error codes")).toEqual(expect.arrayContaining(codes));
});
