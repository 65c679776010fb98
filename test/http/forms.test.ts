import { createHash } from "node:crypto";
import { request } from "node:http";
import { auditServer } from "graphql-http";
import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { JSON_BODY, operationText, type Sending, sendTo } from "../support/raw-requests.ts";
import { DEFAULTS } from "../support/story-settings.ts";

/* The forms of a request: methods, paths, media types, parameters. What GraphQL over HTTP asks of all servers, audits check. */

test("all 61 audits of GraphQL over HTTP are ok, at the settings it comes with", async () => {
  const { url } = await startDemoGateway({ env: DEFAULTS });
  const results = await auditServer({ url: `${url}/graphql`, fetchFn: fetch });
  const notOk = results.flatMap((result) =>
    result.status === "ok" ? [] : [`${result.id} ${result.name}: ${result.status}, ${result.reason}`],
  );
  expect(notOk).toEqual([]);
  expect(results).toHaveLength(61);
});

const GET = { method: "GET", headers: { accept: "application/json" } };
const LOGIN = `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`;

test.each<[string, string, Sending & { readonly search?: string }, number, string]>([
  ["a mutation by GET", "", { ...GET, search: `?query=${encodeURIComponent(LOGIN)}` }, 405, "BAD_REQUEST"],
  [
    "a mutation of whose results its caller takes no type",
    "",
    { body: operationText(LOGIN), headers: { ...JSON_BODY, accept: "text/html" } },
    406,
    "BAD_REQUEST",
  ],
  ["a PUT", "", { method: "PUT" }, 405, "GET, POST"],
  ["a DELETE", "", { method: "DELETE" }, 405, "GET, POST"],
  ["a QUERY", "", { method: "QUERY" }, 405, "GET, POST"],
  ["another path", "/", GET, 404, "not found\n"],
  ["another path", "x", GET, 404, "not found\n"],
])("%s is refused: /graphql%s", async (_, end, { search = "", ...sending }, status, told) => {
  const { url, calls } = await startDemoGateway();
  const answer = await sendTo(`${url}/graphql${end}${search}`, sending);
  expect(answer.status).toBe(status);
  expect(`${answer.text}${answer.headers.get("allow")}`).toContain(told);
  expect(calls()).toEqual([]);
});

test.each(["/api/v1/ada/mnist", "/healthz/", "/downloads/x", "/favicon.ico"])(
  "there is nothing at %s",
  async (path) => {
    const { url, calls } = await startDemoGateway();
    expect(await sendTo(url + path, { method: "GET" })).toMatchObject({ status: 404, text: "not found\n" });
    expect(calls()).toEqual([]);
  },
);

test("probes say that the gateway lives, and that it is ready until it is asked to stop", async () => {
  const { url, drain } = await startGateway({ upstream: { url: "http://127.0.0.1:1" } });
  const probes = async () => {
    const told = ["/healthz", "/readyz"].map((path) => sendTo(url + path, { method: "GET" }));
    return (await Promise.all(told)).map(({ status, text }) => `${status} ${text}`);
  };
  expect(await probes()).toEqual(["200 alive\n", "200 ready\n"]);
  drain();
  expect(await probes()).toEqual(["200 alive\n", "503 draining\n"]);
});

test.each([
  ["application/json;q=0, application/graphql-response+json", "application/graphql-response+json"],
  ["application/json;q=0.4, application/graphql-response+json; q=0.9", "application/graphql-response+json"],
  ["application/graphql-response+json;q=0.9, */*;q=0.1", "application/graphql-response+json"],
  ["application/graphql-response+json;q=0.5, application/json", "application/json"],
  ["application/graphql-response+json, application/json", "application/graphql-response+json"],
  ['application/json; charset="utf-8"', "application/json"],
])("a caller that accepts %s is sent %s, by GET and POST", async (accept, type) => {
  const { url } = await startGateway({ upstream: await startFake(() => undefined) });
  const answers = [
    await fetch(`${url}/graphql?query={__typename}`, { headers: { accept } }),
    await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { accept, ...JSON_BODY },
      body: operationText("{ __typename }"),
    }),
  ];
  for (const { status, headers } of answers)
    expect([status, headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
});

const persistedQuery = { version: 1, sha256Hash: "0".repeat(64) };
const unresolved = "query Q($id: ID!) { experiment(id: $id) { id } }";

// docs/errors.md tells the same in words.
test.each<[string, object, string, number, number]>([
  ["data that is null", { query: `{ experiment(id: "ada.mnist.1") { id } }` }, "NOT_FOUND", 200, 200],
  ["a syntax error", { query: "{" }, "GRAPHQL_PARSE_FAILED", 200, 400],
  ["an unknown field", { query: "{ x }" }, "GRAPHQL_VALIDATION_FAILED", 200, 400],
  ["a missing variable", { query: unresolved }, "BAD_USER_INPUT", 200, 400],
  ["too long a document", { query: `{ ${"__typename ".repeat(20_000)} }` }, "OPERATION_TOO_LARGE", 200, 400],
  [
    "too deep a document",
    { query: "{ viewer { projects { nodes { groups { nodes { id } } } } } }" },
    "OPERATION_TOO_DEEP",
    200,
    400,
  ],
  ["an unknown hash", { extensions: { persistedQuery } }, "PERSISTED_QUERY_NOT_FOUND", 200, 404],
  [
    "another hash",
    { query: "{ __typename }", extensions: { persistedQuery } },
    "PERSISTED_QUERY_MISMATCH",
    200,
    400,
  ],
  [
    "an unknown operation name",
    { query: "query A { __typename }", operationName: "B" },
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
    const headers = { accept, ...JSON_BODY, authorization: "token t" };
    const answer = await sendTo(`${url}/graphql`, { headers, body: JSON.stringify(body) });
    expect([accept, answer.status]).toEqual([accept, status]);
    expect(answer.text).toContain(`"code":"${code}"`);
  }
});

/** A gateway, and a way to send it bytes as they are, with what it answers. */
async function start(env: Record<string, string> = {}) {
  const upstream = await startFake(() => undefined);
  const gateway = await startGateway({ upstream, env });
  const send = (target: string, body?: string | Buffer) =>
    new Promise<string>((resolve, reject) => {
      const sending = request(`${gateway.url}${target}`, {
        method: body === undefined ? "GET" : "POST",
        agent: false,
        headers: { accept: "application/json", "content-type": "application/json" },
      });
      sending.on("error", reject).on("response", async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        const { data, errors = [] } = JSON.parse(Buffer.concat(chunks).toString()) as {
          data?: object;
          errors?: { message: string; extensions: { code: string } }[];
        };
        const told = errors.map(({ message, extensions: { code } }) => `${code}: ${message}`);
        resolve(`${response.statusCode} ${data ? JSON.stringify(data) : told.join()}`);
      });
      sending.end(body);
    });
  return { send, calls: upstream.calls, logged: gateway.logged };
}

const OK = '200 {"__typename":"Query"}';
const refused = (message: string, code = "BAD_REQUEST") => `400 ${code}: ${message}`;
const noObject = (name: string, got: string) => refused(`${name}: expected a JSON object, got ${got}`);
const noString = (name: string, got: string) => refused(`${name}: expected a string, got ${got}`);
const NO_QUERY = refused("Must provide query string.");
const BROKEN_ENCODING = refused("Expected a query string in percent-encoded UTF-8.");
const noOperation = (message: string) => refused(message, "OPERATION_RESOLUTION_FAILURE");
const misnamed = (got: string) =>
  noOperation(`Expected operationName to be the name of an operation of the document, got ${got}.`);
const noBody = (got: string) => refused(`Expected a JSON object as the body, got ${got}`);
const OTHER_PARAM = refused(
  "Expected only the parameters query, operationName, variables, extensions, documentId, onError.",
);
const encoded = encodeURIComponent;
const withQuery = (rest: string) => `{"query":"{__typename}",${rest}}`;
const hashed = (text: string, sha256Hash = createHash("sha256").update(text).digest("hex"), version = 1) =>
  `"extensions":${JSON.stringify({ persistedQuery: { version, sha256Hash } })}`;

test.each<[string, string]>([
  [`variables=${encoded("canary")}`, noObject("variables", "text that is no JSON")],
  ["variables=[]", noObject("variables", "array")],
  ["variables=null", OK],
  [`variables=${encoded('{"__proto__":{"a":1},"constructor":1,"then":1}')}`, OK],
  [`extensions=${encoded('"canary"')}`, noObject("extensions", "string")],
  ["extensions=", OK],
  ["variables=%7B%ZZ", BROKEN_ENCODING],
  ['variables={"a":"%ED%A0%80"}', BROKEN_ENCODING],
  ["variables={}&variables=1", refused("variables: expected one value, got 2")],
  ["query={__typename}", refused("query: expected one value, got 2")],
  ["operationName=", OK],
  ["operationName=__proto__", misnamed('"__proto__"')],
  // A parameter that is not GraphQL's may be a proxy's.
  ["canary=1&__proto__=1", OK],
])("GET ?query={__typename}&%.60s", async (search, expected) => {
  const { send, calls, logged } = await start();
  expect(await send(`/graphql?query={__typename}&${search}`)).toBe(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

test.each<[string | Buffer, string]>([
  ["", noBody("text that is no JSON")],
  ["null", noBody("null.")],
  [`[${withQuery('"variables":{}')}]`, noBody("an array: no batches.")],
  // The byte order mark and no other: JSON is UTF-8.
  [`\u{feff}${withQuery('"variables":{}')}`, OK],
  [Buffer.from(withQuery('"variables":{}'), "utf16le"), noBody("text that is no JSON")],
  [Buffer.from(operationText("{ __typename #é\n }"), "latin1"), refused("Expected a body in UTF-8.")],
  ["{}", NO_QUERY],
  [
    '{"documentId":"canary"}',
    "200 PERSISTED_QUERY_NOT_FOUND: Expected the text of the document: this gateway knows none by `documentId`.",
  ],
  [`{"query":5,${hashed("5")}}`, noString("query", "number")],
  ['{"query":" "}', "200 GRAPHQL_PARSE_FAILED: Syntax Error: Unexpected <EOF>."],
  [withQuery('"operationName":[]'), noString("operationName", "array")],
  [withQuery('"operationName":null'), OK],
  [withQuery('"operationName":"\\ud800"'), misnamed("a text that is no name")],
  [
    operationText("query A { __typename } query B { __typename }"),
    noOperation('Expected operationName, because the document has 2 operations. Did you mean "A", "B"?'),
  ],
  [operationText("type A { a: Int }"), noOperation("Expected an operation, got a document without one.")],
  [withQuery('"variables":"{}"'), noObject("variables", "string")],
  [withQuery('"canary":1'), OTHER_PARAM],
  [withQuery('"__proto__":{"query":1}'), OTHER_PARAM],
  [withQuery('"documentId":5'), noString("documentId", "number")],
  ['{"extensions":{"persistedQuery":[]}}', NO_QUERY],
  [`{${hashed("", "a", 2)}}`, refused("Expected persistedQuery of version 1, got 2.")],
  [`{${hashed("", "__proto__")}}`, "200 PERSISTED_QUERY_NOT_FOUND: PersistedQueryNotFound"],
  // Names that mean something to JavaScript are names like others.
  [operationText("{ __proto__: __typename then: __typename }"), '200 {"__proto__":"Query","then":"Query"}'],
  [operationText("{ ...constructor }"), '200 GRAPHQL_VALIDATION_FAILED: Unknown fragment "constructor".'],
])("POST %.80s", async (body, expected) => {
  const { send, calls, logged } = await start();
  expect(await send("/graphql", body)).toBe(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

test("a trusted document can be named by documentId in a GET", async () => {
  const { send } = await start({ TRUSTED_DOCUMENTS: "schema/persisted-documents.json" });
  expect(await send("/graphql?documentId=canary")).toBe(
    refused("Expected the hash of a trusted document, got another.", "PERSISTED_QUERY_NOT_IN_LIST"),
  );
});
