import { expect, test } from "vitest";
import { routes } from "../../demo/routes.ts";
import { schema } from "../../src/graphql/schema.ts";
import { optionalEndpoints, sections } from "../../src/rest/api/kinds.ts";
import { contract, contractRows, unnamed } from "../support/contract.ts";

const rowOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  unnamed(`${method} ${path}`);

const document = contract.map(({ rows }) => rows.map(({ row }) => unnamed(row)));

test("src/rest/api/kinds.ts has the rows of endpoint-table.txt, section by section, in its order and spelling", () => {
  const { optional, ...documented } = sections;
  expect(optional).toBe(optionalEndpoints);
  expect(Object.values(documented).map((section) => Object.values(section).map(rowOf))).toEqual(document);
});

test("demo/routes.ts has the rows of endpoint-table.txt in its order and spelling", () => {
  expect(routes.map(rowOf)).toEqual(document.flat());
});

test("no row of endpoint-table.txt stands there twice, and the rows that write are those with a mutation", () => {
  expect(new Set(document.flat()).size).toBe(contractRows.length);
  const writing = contractRows.filter(({ method }) => method !== "GET");
  expect(contractRows.filter(({ mutation }) => mutation !== null)).toEqual(writing);
});

/** Endpoints whose mutation is not named like them. */
const MUTATIONS: Readonly<Record<string, string>> = {
  archiveBuild: "archiveBuildJob",
  restoreBuild: "restoreBuildJob",
};

/** The mutations behind optional endpoints. */
const optional = [
  ...new Set(
    Object.entries(optionalEndpoints).flatMap(([name, { method }]) =>
      method === "GET" ? [] : [MUTATIONS[name] ?? name],
    ),
  ),
];

/** The mutations that send a command of whatever kind a run is. */
const OF_ANY_RUN = ["stop", "bookmark", "archive", "delete"].flatMap((act) => [`${act}Run`, `${act}Runs`]);

test("the mutations of the schema are those that endpoint-table.txt names and those of optional endpoints, each once", () => {
  const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {});
  const inContract = contractRows.flatMap(({ mutation }) => mutation ?? []);
  expect([...inContract, ...optional, ...OF_ANY_RUN].toSorted()).toEqual(mutations.toSorted());
});
