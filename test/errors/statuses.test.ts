import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const persistedQuery = { version: 1, sha256Hash: "0".repeat(64) };
const ofQuery = (query: string, more: object = {}) => ({ query, ...more });

// docs/errors.md tells the same in words.
test.each<[string, object, string, number, number]>([
  ["data that is null", ofQuery(`{ experiment(id: "ada.mnist.1") { id } }`), "NOT_FOUND", 200, 200],
  ["a syntax error", ofQuery("{"), "GRAPHQL_PARSE_FAILED", 200, 400],
  ["an unknown field", ofQuery("{ x }"), "GRAPHQL_VALIDATION_FAILED", 200, 400],
  [
    "a missing variable",
    ofQuery("query Q($id: ID!) { experiment(id: $id) { id } }"),
    "BAD_USER_INPUT",
    200,
    400,
  ],
  [
    "a document that is too long",
    ofQuery(`{ ${"__typename ".repeat(20_000)} }`),
    "OPERATION_TOO_LARGE",
    200,
    400,
  ],
  [
    "a document that is too deep",
    ofQuery("{ viewer { projects { nodes { groups { nodes { id } } } } } }"),
    "OPERATION_TOO_DEEP",
    200,
    400,
  ],
  ["an unknown hash", { extensions: { persistedQuery } }, "PERSISTED_QUERY_NOT_FOUND", 200, 404],
  [
    "another hash",
    ofQuery("{ __typename }", { extensions: { persistedQuery } }),
    "PERSISTED_QUERY_MISMATCH",
    200,
    400,
  ],
  [
    "an unknown operation name",
    ofQuery("query A { __typename }", { operationName: "B" }),
    "OPERATION_RESOLUTION_FAILURE",
    400,
    400,
  ],
  ["no document", {}, "BAD_REQUEST", 400, 400],
])("%s has the status of its media type", async (_, body, code, older, newer) => {
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
