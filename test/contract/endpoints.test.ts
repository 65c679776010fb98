import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { routes } from "../../src/demo/routes.ts";
import { endpoints } from "../../src/rest/api/endpoints.ts";

interface Section {
  readonly heading: string;
  readonly rows: readonly string[];
}

/** The rows as a person typed them from the service's document, "Endpoints", below its headings. */
const document: readonly Section[] = readFileSync(new URL("endpoint-table.txt", import.meta.url), "utf8")
  .split(/^# /m)
  .slice(1)
  .map((section) => {
    const [heading = "", ...rows] = section.split("\n").filter((line) => line !== "");
    return { heading, rows: rows.map(unnamed) };
  });

/** Names of holes differ between the three; where the holes stand must not. */
function unnamed(row: string): string {
  return row.replaceAll(/\{\w+\}/g, "{}");
}

const rowOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  unnamed(`${method} ${path}`);

test("the client's table has the document's rows, section by section, in its order and spelling", () => {
  const sections = Object.values(endpoints).map((section) => Object.values(section).map(rowOf));
  expect(sections).toEqual(document.map(({ rows }) => rows));
});

test("the demo service has the document's rows in its order and spelling", () => {
  expect(routes.map(rowOf)).toEqual(document.flatMap(({ rows }) => rows));
});

test("the document has seven sections with 20 reading and 36 writing rows, none of them twice", () => {
  const rows = document.flatMap((section) => section.rows);
  expect(Object.fromEntries(document.map((section) => [section.heading, section.rows.length]))).toEqual({
    "Auth and current user": 2,
    Experiments: 19,
    Jobs: 12,
    "Build jobs": 8,
    "Experiment groups": 9,
    Cluster: 2,
    "User administration": 4,
  });
  expect(rows.filter((row) => row.startsWith("GET "))).toHaveLength(20);
  expect(rows.filter((row) => /^(?:POST|PATCH|DELETE) /.test(row))).toHaveLength(36);
  expect(new Set(rows).size).toBe(56);
});
