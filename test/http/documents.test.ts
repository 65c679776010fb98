import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import type { Answer } from "../support/gateway.ts";
import { manifest } from "../support/build.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const persisted = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: sha256(text) } });

/** Starts a gateway in front of the demo. Returns a function that sends a body unchanged. */
async function start(env: Record<string, string> = {}) {
  const { url, calls, demo } = await startDemoGateway({ env });
  const headers = { ...JSON_BODY, authorization: `token ${demo.users[0]?.token}` };
  return {
    url,
    calls,
    headers,
    post: async (body: object) => {
      const { status, text } = await sendTo(`${url}/graphql`, { headers, body: JSON.stringify(body) });
      return { status, ...(JSON.parse(text) as Answer<unknown>) };
    },
  };
}

/** The document has descriptions, which GraphQL allows since September 2025. */
const QUERY = `"""Shows a state.""" query State("Of which job." $id: ID! = "ada.mnist.jobs.2") { ...S }
"What is shown." fragment S on Query { job(id: $id) { rawStatus } }`;
const DATA = { job: { rawStatus: "running" } };

const refusal = (code: string, message: string) => [
  { message, extensions: { code, requestId: expect.any(String) } },
];

describe("automatic persisted queries", () => {
  test("request a document once, then run it by hash, including GET", async () => {
    const { url, post, calls, headers } = await start();
    const extensions = persisted(QUERY);
    const errors = refusal("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
    expect(await post({ extensions })).toEqual({ status: 200, errors });
    expect(calls()).toEqual([]);
    expect(await post({ query: QUERY, extensions })).toEqual({ status: 200, data: DATA });
    expect(await post({ extensions })).toEqual({ status: 200, data: DATA });
    for (const params of [{ extensions: JSON.stringify(extensions) }, { query: QUERY }]) {
      const response = await fetch(`${url}/graphql?${new URLSearchParams(params)}`, { headers });
      expect(await response.json()).toEqual({ data: DATA });
      // The URL identifies the response, which is private to the caller.
      expect(response.headers.get("cache-control")).toBe("private, no-store");
    }
    expect(calls()).toEqual(Array(4).fill("GET ada/mnist/jobs/2/"));
  });

  test("refuse a hash of another document and do not register it", async () => {
    const { post, calls } = await start();
    const extensions = persisted("{ viewer { id } }");
    const mismatch = await post({ query: QUERY, extensions });
    expect(mismatch.errors).toEqual(refusal("PERSISTED_QUERY_MISMATCH", "PersistedQueryMismatch"));
    const unknown = await post({ extensions });
    expect(unknown.errors).toEqual(refusal("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound"));
    expect(calls()).toEqual([]);
  });

  test("bound their memory by evicting the least recently used documents", async () => {
    const { post } = await start({ DOCUMENT_CACHE_BYTES: "8000000", MAX_BODY_BYTES: "256000" });
    // Each document takes a little more than 500,000 bytes, and there is room for 2,000,000 bytes.
    const textOf = (index: number) => `# ${index}${" ".repeat(249_990)}\n{ __typename }`;
    for (const query of [0, 1, 2, 3, 4].map(textOf)) await post({ query, extensions: persisted(query) });
    expect(await post({ extensions: persisted(textOf(0)) })).toMatchObject({
      errors: [{ extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }],
    });
    expect(await post({ extensions: persisted(textOf(2)) })).toMatchObject({ data: { __typename: "Query" } });
  });
});

const OURS = fileURLToPath(new URL("../../schema/persisted-documents.json", import.meta.url));
const generated = new URL("../generated/trusted/persisted-documents.json", import.meta.url);

describe("trusted documents", () => {
  test("in the committed manifest equal the generated ones", async () => {
    await expect(readFileSync(generated, "utf8")).toMatchFileSnapshot(OURS);
  });

  test("run by hash, and other documents are refused", async () => {
    const { url, headers, post, calls } = await start({ TRUSTED_DOCUMENTS: OURS });
    const documents = JSON.parse(readFileSync(OURS, "utf8")) as Record<string, string>;
    const [hash = ""] = Object.entries(documents).find(([, text]) => text.includes("query StartPage")) ?? [];
    const data = { viewer: { username: "ada" }, gateway: { version: expect.any(String) } };
    expect(hash).toMatch(/^sha256:[\da-f]{64}$/);
    for (const body of [
      { documentId: hash },
      { documentId: hash.replace("sha256:", "") },
      { extensions: { persistedQuery: { version: 1, sha256Hash: hash } } },
    ])
      expect(await post(body)).toMatchObject({ status: 200, data });
    const byGet = await fetch(`${url}/graphql?documentId=${hash}`, { headers });
    expect(await byGet.json()).toMatchObject({ data });
    expect(calls()).toEqual(Array(4).fill("GET users/"));

    for (const [body, code, got] of [
      [{ query: QUERY }, "PERSISTED_QUERY_ID_REQUIRED", "a document"],
      [{ query: QUERY, extensions: persisted(QUERY) }, "PERSISTED_QUERY_ID_REQUIRED", "a document"],
      [{ extensions: persisted(QUERY) }, "PERSISTED_QUERY_NOT_IN_LIST", "an unknown hash"],
      [{ variables: {} }, "PERSISTED_QUERY_ID_REQUIRED", "none"],
    ] as const) {
      const errors = refusal(code, `Expected the hash of a trusted document, got ${got}.`);
      expect(await post(body)).toEqual({ status: 400, errors });
    }
    expect(calls()).toEqual([]);
  });

  const format = { format: "apollo-persisted-query-manifest", version: 1 };
  test.each([
    ["graphql-codegen and relay-compiler", { abc: QUERY }],
    ["Apollo", { ...format, operations: [{ id: "abc", body: QUERY }] }],
  ])("are read from manifests written by %s", async (_, content) => {
    const { post } = await start({ TRUSTED_DOCUMENTS: manifest(content) });
    expect(await post({ documentId: "abc" })).toEqual({ status: 200, data: DATA });
  });
});
