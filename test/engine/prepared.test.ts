import { buildSchema } from "graphql";
import { expect, test } from "vitest";
import { createDocuments } from "../../src/engine/documents/prepared.ts";

test("a document is kept from the second time on, so that those that are sent once keep no memory", () => {
  const documents = createDocuments({
    schema: buildSchema("type Query { a: Int }"),
    cacheBytes: 1_000_000,
    limits: { depth: 10, tokens: 100, mutationFields: 10 },
    isIntrospectable: true,
  });
  const read = (text: string) => documents.validate(text, documents.parse(text));
  read("{ a }");
  expect(documents.known("{ a }")).toBeNull();
  read("{ b: a }");
  read("{ a }");
  expect(documents.known("{ a }")).not.toBeNull();
  expect(documents.known("{ b: a }")).toBeNull();
});
