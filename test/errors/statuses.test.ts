import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const HASH = "0".repeat(64);

// docs/errors.md tells the same in words.
test.each([
  {
    name: "data that is null",
    body: { query: `{ experiment(id: "ada.mnist.1") { id } }` },
    code: "NOT_FOUND",
    older: 200,
    newer: 200,
  },
  { name: "a syntax error", body: { query: "{" }, code: "GRAPHQL_PARSE_FAILED", older: 200, newer: 400 },
  {
    name: "an unknown field",
    body: { query: "{ x }" },
    code: "GRAPHQL_VALIDATION_FAILED",
    older: 200,
    newer: 400,
  },
  {
    name: "a missing variable",
    body: { query: "query Q($id: ID!) { experiment(id: $id) { id } }" },
    code: "BAD_USER_INPUT",
    older: 200,
    newer: 400,
  },
  {
    name: "a document that is too long",
    body: { query: `{ ${"__typename ".repeat(20_000)} }` },
    code: "OPERATION_TOO_LARGE",
    older: 200,
    newer: 400,
  },
  {
    name: "a document that is too deep",
    body: { query: "{ viewer { projects { nodes { groups { nodes { id } } } } } }" },
    code: "OPERATION_TOO_DEEP",
    older: 200,
    newer: 400,
  },
  {
    name: "an unknown hash",
    body: { extensions: { persistedQuery: { version: 1, sha256Hash: HASH } } },
    code: "PERSISTED_QUERY_NOT_FOUND",
    older: 200,
    newer: 200,
  },
  {
    name: "another hash",
    body: { query: "{ __typename }", extensions: { persistedQuery: { version: 1, sha256Hash: HASH } } },
    code: "PERSISTED_QUERY_MISMATCH",
    older: 200,
    newer: 200,
  },
  {
    name: "an unknown operation name",
    body: { query: "query A { __typename }", operationName: "B" },
    code: "OPERATION_RESOLUTION_FAILURE",
    older: 400,
    newer: 400,
  },
  { name: "no document", body: {}, code: "BAD_REQUEST", older: 400, newer: 400 },
])("$name has the status of its media type", async ({ body, code, older, newer }) => {
  const { url } = await startGateway({ upstream: await startFake(() => undefined), env: { MAX_DEPTH: "5" } });
  for (const [accept, status] of [
    ["application/json", older],
    ["text/event-stream", older],
    ["application/graphql-response+json", newer],
  ] as const) {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { accept, "content-type": "application/json", authorization: "token t" },
      body: JSON.stringify(body),
    });
    expect([accept, response.status]).toEqual([accept, status]);
    expect(await response.text()).toContain(`"code":"${code}"`);
  }
});
