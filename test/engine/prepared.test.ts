import { buildSchema, parse, validate } from "graphql";
import { expect, test } from "vitest";
import { createDocuments } from "../../src/engine/documents/prepared.ts";
import WRONG from "./wrong-documents.json" with { type: "json" };

const schema = buildSchema("type Query { a: Int, of(b: Int): Int }");

/** Reads documents as if they arrived in requests. */
function open() {
  const documents = createDocuments({
    schema,
    cacheBytes: 1_000_000,
    limits: { depth: 10, tokens: 100, mutationFields: 10 },
    isIntrospectable: true,
  });
  return { ...documents, read: (text: string) => documents.validate(text, documents.parse(text)) };
}

test("a document is cached only from its second use on", () => {
  const { known, read } = open();
  read("{ a }");
  expect(known("{ a }")).toBeNull();
  read("{ b: a }");
  read("{ a }");
  expect(known("{ a }")).not.toBeNull();
  expect(known("{ b: a }")).toBeNull();
});

test.each(WRONG)("%s has the errors that graphql-js reports", (text) => {
  const found = validate(schema, parse(text)).map(({ message }) => expect.objectContaining({ message }));
  expect(found).not.toEqual([]);
  expect(() => open().read(text)).toThrow(expect.objectContaining({ errors: found }));
});
