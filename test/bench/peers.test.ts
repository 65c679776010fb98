import { buildSchema, parse, validate } from "graphql";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Answers, requireEqual } from "../../bench/peers/answers.ts";
import { OPERATIONS, POSTS, TABLE } from "../../bench/peers/operations.ts";

const answer = (...nodes: readonly unknown[]): Answers => ({
  data: { Q2: [{ experiment: { name: null, jobs: { nodes } } }] },
  requests: new Map(),
});

const LIMIT = answer({ id: "1" }, { id: "2" });

test("a server is compared if its answers are the limit's, and not otherwise", () => {
  expect(() => requireEqual("twin", LIMIT, answer({ id: "1" }, { id: "2" }))).not.toThrow();
  for (const [given, fault] of [
    [answer({ id: "1" }, { id: "3" }), 'nodes.1.id: expected "2", got "3"'],
    [answer({ id: "1" }, { id: "2", x: 0 }), "nodes.1.x: expected nothing, got 0"],
    [answer({ id: "1" }), 'nodes.1: expected {"id":"2"}, got nothing'],
  ] as const)
    expect(() => requireEqual("other", LIMIT, given)).toThrow(fault);
});

test("the operations of the comparison are valid in the schema", () => {
  const schema = buildSchema(readFileSync(new URL("../../schema/schema.graphql", import.meta.url), "utf8"));
  const faults = [...OPERATIONS, TABLE, POSTS].flatMap(({ query }) =>
    validate(schema, parse(query)).map(({ message }) => message),
  );
  expect(faults).toEqual([]);
});
