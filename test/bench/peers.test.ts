import { buildSchema, parse, validate } from "graphql";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Answers, requireEqual } from "../../bench/peers/answers.ts";
import { bodyOf, OPERATIONS, POSTS, TABLE } from "../../bench/peers/operations.ts";
import { mediansOf, type Shown, tablesOf } from "../../bench/peers/table.ts";

const answer = (...nodes: readonly unknown[]): Answers => ({
  data: { Q2: [{ experiment: { name: null, jobs: { nodes } } }] },
  requests: new Map(),
});

const LIMIT = answer({ id: "1" }, { id: "2" });

test("a server is compared only if its answers are the limit's", () => {
  expect(() => requireEqual("twin", LIMIT, answer({ id: "1" }, { id: "2" }))).not.toThrow();
});

test.each([
  ["another value", answer({ id: "1" }, { id: "3" }), 'nodes.1.id: expected "2", got "3"'],
  ["another type", answer({ id: "1" }, { id: 2 }), 'nodes.1.id: expected "2", got 2'],
  ["null for a record", answer({ id: "1" }, null), 'nodes.1: expected {"id":"2"}, got null'],
  ["a missing key", answer({ id: "1" }, {}), 'nodes.1.id: expected "2", got nothing'],
  ["a key too much", answer({ id: "1" }, { id: "2", x: 0 }), "nodes.1.x: expected nothing, got 0"],
  ["a missing item", answer({ id: "1" }), 'nodes.1: expected {"id":"2"}, got nothing'],
  ["a list as an object", answer({ id: "1" }, ["2"]), 'nodes.1: expected {"id":"2"}, got ["2"]'],
  ["no data", { ...LIMIT, data: { Q2: [undefined] } }, "Q2.0: expected {"],
])("a server that answers with %s is not compared", (_, given, fault) => {
  expect(() => requireEqual("other", LIMIT, given)).toThrow(fault);
});

test("the operations of the comparison are valid in the schema", () => {
  const schema = buildSchema(readFileSync(new URL("../../schema/schema.graphql", import.meta.url), "utf8"));
  const faults = [...OPERATIONS, TABLE, POSTS].flatMap(({ query }) =>
    validate(schema, parse(query)).map(({ message }) => message),
  );
  expect(faults).toEqual([]);
});

test("each document of the unseen operation is a new one", () => {
  const unseen = OPERATIONS.filter(({ isUnseen }) => isUnseen);
  const bodies = unseen.flatMap((each) => [bodyOf(each, each.query, 0), bodyOf(each, each.query, 0)]);
  expect(bodies).toHaveLength(2);
  expect(new Set(bodies.map((body) => (JSON.parse(body) as { query: string }).query)).size).toBe(2);
});

test("a ratio is the median of the rounds' ratios with its quartiles, whatever slowed a round down", () => {
  const shown = (name: string, cpuMs: readonly number[]): Shown => ({
    name,
    cpuMs: new Map([["Q1", cpuMs]]),
    requests: new Map([["Q1", 1]]),
    latencyMs: 20,
    idleBytes: 80_000_000,
    loadedBytes: 150_000_000,
  });
  const tables = tablesOf("Node 26", "Q1", [
    shown("limit", [1, 10, 1, 1, 1]),
    shown("other", [2, 20, 9, 1, 3]),
  ]);
  const [head, , limit, other] = tables.split("\n");
  expect(head).toBe("| Node 26: CPU per request, limit = 1 | Q1 | Q1 at 10 ms, ms | RSS idle / after, MB |");
  expect(limit).toBe("| limit | 1.00 | 20.0 | 80 / 150 |");
  expect(other).toBe("| other | 2.0 (2.0–3.0) | 20.0 | 80 / 150 |");
  expect(mediansOf(tables).split("\n")[3]).toBe("| other | 2.0 | 20.0 | 80 / 150 |");
});
