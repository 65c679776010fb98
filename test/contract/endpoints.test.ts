import { expect, test } from "vitest";
import { routes } from "../../demo/routes.ts";
import { schema } from "../../src/graphql/schema.ts";
import { optionalEndpoints, sections } from "../../src/rest/api/kinds.ts";
import { contract, contractRows, unnamed } from "../support/contract.ts";

const rowOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  unnamed(`${method} ${path}`);

const document = contract.map((rows) => rows.map(({ row }) => unnamed(row)));

test("src/rest/api/kinds.ts matches endpoint-table.txt by section, in order and spelling", () => {
  const { optional, ...documented } = sections;
  expect(optional).toBe(optionalEndpoints);
  expect(Object.values(documented).map((section) => Object.values(section).map(rowOf))).toEqual(document);
});

test("demo/routes.ts matches endpoint-table.txt in order and spelling", () => {
  expect(routes.map(rowOf)).toEqual(document.flat());
});

test("rows of endpoint-table.txt are unique, and exactly those that write have mutations", () => {
  expect(new Set(document.flat()).size).toBe(contractRows.length);
  const writing = contractRows.filter(({ method }) => method !== "GET");
  expect(contractRows.filter(({ mutation }) => mutation !== null)).toEqual(writing);
});

/** Endpoints without a mutation of their name, because one mutation uses several of them. */
const MUTATIONS: readonly (readonly [endpoint: RegExp, mutation: string])[] = [
  [/^unbookmarkProject$/, "bookmarkProject"],
  [/^restoreProject$/, "archiveProject"],
  [/^(?:archive|restore)(?!Project).*/, "archiveRuns"],
  [/^(stop|delete)Experiments$/, "$1Runs"],
  [/^createBuild$/, "createBuildJob"],
];

/** The mutations behind optional endpoints. */
const optional = Object.entries(optionalEndpoints).flatMap(([name, { method }]) =>
  method === "GET" ? [] : [MUTATIONS.reduce((named, [endpoint, to]) => named.replace(endpoint, to), name)],
);

test("the schema's mutations are exactly those of endpoint-table.txt and optional endpoints", () => {
  const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {});
  const inContract = contractRows.flatMap(({ mutation }) => mutation ?? []);
  const named = new Set([...inContract, ...optional]);
  expect([...named].toSorted()).toEqual(mutations.toSorted());
});
