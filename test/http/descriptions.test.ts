import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";

/* Documents with descriptions, as GraphQL has them since September 2025. */

const DOCUMENT = `
"""Tells the version."""
query Version("Whether to tell it." $tell: Boolean! = true) { ...Facts }
"What is told."
fragment Facts on Query { gateway { upstreamApiVersion @include(if: $tell) } }`;

const HASH = createHash("sha256").update(DOCUMENT).digest("hex");
const BY_HASH = { extensions: { persistedQuery: { version: 1, sha256Hash: HASH } } };
const ANSWER = '{"data":{"gateway":{"upstreamApiVersion":"v1"}}}';

test("a document with descriptions runs by POST, QUERY, GET and its hash", async () => {
  const { url } = await startDemoGateway();
  const send = async (method: string, body?: string, query = "") => {
    const headers = body === undefined ? {} : JSON_BODY;
    return (await sendTo(`${url}/graphql${query}`, { method, headers, ...(body !== undefined && { body }) }))
      .text;
  };
  expect(await send("POST", operationText(DOCUMENT))).toBe(ANSWER);
  expect(await send("QUERY", operationText(DOCUMENT))).toBe(ANSWER);
  expect(await send("GET", undefined, `?query=${encodeURIComponent(DOCUMENT)}`)).toBe(ANSWER);
  expect(await send("POST", JSON.stringify({ query: DOCUMENT, ...BY_HASH }))).toBe(ANSWER);
  expect(await send("POST", JSON.stringify(BY_HASH))).toBe(ANSWER);
});
