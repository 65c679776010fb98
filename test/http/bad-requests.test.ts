import { createHash } from "node:crypto";
import { request } from "node:http";
import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const OK = { status: 200, data: { __typename: "Query" } };

/** A gateway, and a way to send it bytes as they are. */
async function start(env: Record<string, string> = {}) {
  const upstream = await startFake(() => undefined);
  const gateway = await startGateway({ upstream, env });
  const send = (method: "GET" | "POST", target: string, body?: string | Buffer) =>
    new Promise<object>((resolve, reject) => {
      const sending = request(`${gateway.url}${target}`, {
        method,
        agent: false,
        headers: { accept: "application/json", "content-type": "application/json" },
      });
      sending.on("error", reject).on("response", async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        const { data, errors } = JSON.parse(Buffer.concat(chunks).toString()) as {
          data?: object;
          errors?: { message: string; extensions: { code: string } }[];
        };
        const told = errors?.map(({ message, extensions: { code } }) => `${code}: ${message}`);
        resolve({ status: response.statusCode, ...(data && { data }), ...(told && { errors: told }) });
      });
      sending.end(body);
    });
  return {
    get: (search: string) => send("GET", `/graphql?${search}`),
    post: (body: string | Buffer) => send("POST", "/graphql", body),
    calls: upstream.calls,
    logged: gateway.logged,
  };
}

const refused = (message: string, code = "BAD_REQUEST") => ({ status: 400, errors: [`${code}: ${message}`] });
const noJson = (name: string) => refused(`${name}: expected a JSON object, got text that is no JSON`);
const noObject = (name: string, type: string) => refused(`${name}: expected a JSON object, got ${type}`);
const noString = (name: string, type: string) => refused(`${name}: expected a string, got ${type}`);
const NO_QUERY = refused("Must provide query string.");
const BROKEN_ENCODING = refused("Expected a query string in percent-encoded UTF-8.");
const NO_RESOLUTION = "OPERATION_RESOLUTION_FAILURE";
const misnamed = (got: string) =>
  refused(
    `Expected operationName to be the name of an operation of the document, got ${got}.`,
    NO_RESOLUTION,
  );
const NOT_NAMED = refused(
  'Expected operationName, because the document has 2 operations. Did you mean "A", "B"?',
  NO_RESOLUTION,
);
const NO_OPERATION = refused("Expected an operation, got a document without one.", NO_RESOLUTION);

const encoded = encodeURIComponent;
const QUERY = "query={__typename}";
const JSON_PARAMS: readonly [value: string, expected: (name: string) => object][] = [
  ["canary", noJson],
  ["{", noJson],
  ["{'a':1}", noJson],
  ["undefined", noJson],
  ["NaN", noJson],
  ["[".repeat(3_000), noJson],
  ["1", (name) => noObject(name, "number")],
  ["[]", (name) => noObject(name, "array")],
  ['"canary"', (name) => noObject(name, "string")],
  ["true", (name) => noObject(name, "boolean")],
  ["null", () => OK],
  ["", () => OK],
  ["{}", () => OK],
  ['{"__proto__":{"a":1},"constructor":1,"then":1}', () => OK],
  [`${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`, () => OK],
];

/** Titles of tests end somewhere. */
const titled = (rows: readonly (readonly [sent: string | Buffer, expected: object])[]) =>
  rows.map(([sent, expected]) => ({ title: String(sent).slice(0, 80), sent, expected }));

const SEARCHES: readonly (readonly [search: string, expected: object])[] = [
  ...["variables", "extensions"].flatMap((name) => [
    ...JSON_PARAMS.map(
      ([value, expected]) => [`${QUERY}&${name}=${encoded(value)}`, expected(name)] as const,
    ),
    [`${QUERY}&${name}=%`, BROKEN_ENCODING] as const,
    [`${QUERY}&${name}=%7B%ZZ`, BROKEN_ENCODING] as const,
    [`${QUERY}&${name}={"a":"%FF"}`, BROKEN_ENCODING] as const,
    [`${QUERY}&${name}={"a":"%ED%A0%80"}`, BROKEN_ENCODING] as const,
    [`${QUERY}&${name}={}&${name}=1`, refused(`${name}: expected one value, got 2`)] as const,
  ]),
  [`${QUERY}&${QUERY}&${QUERY}`, refused("query: expected one value, got 3")],
  [`${QUERY}&operationName=A&operationName=B`, refused("operationName: expected one value, got 2")],
  ["", NO_QUERY],
  ["query=", NO_QUERY],
  ["documentId=canary", NO_QUERY],
  [`extensions=${encoded('{"persistedQuery":1}')}`, NO_QUERY],
  ["query=%", BROKEN_ENCODING],
  [`${QUERY}&operationName=`, OK],
  [`${QUERY}&operationName=canary`, misnamed('"canary"')],
  [`${QUERY}&operationName=__proto__`, misnamed('"__proto__"')],
  [`query=${encoded("query A { __typename } query B { __typename }")}`, NOT_NAMED],
  [`query=${encoded("fragment A on Query { __typename }")}`, NO_OPERATION],
  // A parameter that is not GraphQL's may be a proxy's.
  [`${QUERY}&canary=1&__proto__=1`, OK],
  ["query={__typename+%23+%26%0A}", OK],
];

test.each(titled(SEARCHES))("GET ?$title", async ({ sent: search, expected }) => {
  const { get, calls, logged } = await start();
  expect(await get(String(search))).toEqual(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

const withQuery = (rest: string) => `{"query":"{__typename}",${rest}}`;
const ofQuery = (query: string) => JSON.stringify({ query });
const utf8 = (text: string, ...bytes: number[]) => Buffer.concat([Buffer.from(text), Buffer.from(bytes)]);
const noBody = (type: string) => refused(`Expected a JSON object as the body, got ${type}.`);
const NO_JSON_BODY = refused("Expected a JSON object as the body, got text that is no JSON");
const NO_BATCH = refused("Expected a JSON object as the body, got an array: no batches.");
const NO_UTF8 = refused("Expected a body in UTF-8.");
const OTHER_PARAM = refused(
  "Expected only the parameters query, operationName, variables, extensions, documentId, onError.",
);
const unparsed = (message: string) => ({ status: 200, errors: [`GRAPHQL_PARSE_FAILED: ${message}`] });
const invalid = (message: string) => ({ status: 200, errors: [`GRAPHQL_VALIDATION_FAILED: ${message}`] });
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hashed = (hash: unknown, version: unknown = 1) =>
  `"extensions":${JSON.stringify({ persistedQuery: { version, sha256Hash: hash } })}`;

const BODIES: readonly (readonly [body: string | Buffer, expected: object])[] = [
  ["", NO_JSON_BODY],
  ["canary", NO_JSON_BODY],
  ["[".repeat(100_000), NO_JSON_BODY],
  ["null", noBody("null")],
  ['"canary"', noBody("string")],
  ["1", noBody("number")],
  ["true", noBody("boolean")],
  ["[]", NO_BATCH],
  ["[null]", NO_BATCH],
  [`[${withQuery('"variables":{}')}]`, NO_BATCH],
  // The byte order mark and no other: JSON is UTF-8.
  [`\u{feff}${withQuery('"variables":{}')}`, OK],
  [Buffer.from(withQuery('"variables":{}'), "utf16le"), NO_JSON_BODY],
  [utf8('{"query":"{__typename #', 0xff), NO_UTF8],
  [Buffer.from(ofQuery("{ __typename #é\n }"), "latin1"), NO_UTF8],
  [utf8('{"query":"{__typename}","operationName":"', 0xed, 0xa0, 0x80), NO_UTF8],

  ["{}", NO_QUERY],
  ['{"query":null}', NO_QUERY],
  ['{"query":1}', noString("query", "number")],
  ['{"query":[]}', noString("query", "array")],
  ['{"query":{}}', noString("query", "object")],
  ['{"query":["{__typename}"]}', noString("query", "array")],
  [`{"query":5,${hashed(sha256("5"))}}`, noString("query", "number")],
  [`{"query":{},${hashed(sha256("[object Object]"))}}`, noString("query", "object")],
  ['{"query":""}', unparsed("Syntax Error: Unexpected <EOF>.")],
  ['{"query":" "}', unparsed("Syntax Error: Unexpected <EOF>.")],
  ['{"query":"\\u0000"}', unparsed("Syntax Error: Unexpected character: U+0000.")],
  ['{"query":"{__typename #\\ud800\\n}"}', unparsed("Syntax Error: Invalid character: U+D800.")],
  ['{"query":"{__typename}","query":"{no}"}', invalid('Cannot query field "no" on type "Query".')],

  ['{"operationName":5}', noString("operationName", "number")],
  [withQuery('"operationName":5'), noString("operationName", "number")],
  [withQuery('"operationName":[]'), noString("operationName", "array")],
  [withQuery('"operationName":{}'), noString("operationName", "object")],
  [withQuery('"operationName":true'), noString("operationName", "boolean")],
  [withQuery('"operationName":null'), OK],
  [withQuery('"operationName":""'), misnamed("a text that is no name")],
  [withQuery('"operationName":"canary"'), misnamed('"canary"')],
  [withQuery('"operationName":"__proto__"'), misnamed('"__proto__"')],
  [withQuery('"operationName":"\\ud800"'), misnamed("a text that is no name")],
  [ofQuery("query A { __typename } query B { __typename }"), NOT_NAMED],
  [ofQuery("fragment A on Query { __typename }"), NO_OPERATION],
  [ofQuery("type A { a: Int }"), NO_OPERATION],
  ['{"query":"query __proto__ { __typename }","operationName":"__proto__"}', OK],

  ...["variables", "extensions"].flatMap((name): [string, object][] => [
    [withQuery(`"${name}":1`), noObject(name, "number")],
    [withQuery(`"${name}":[]`), noObject(name, "array")],
    [withQuery(`"${name}":"{}"`), noObject(name, "string")],
    [withQuery(`"${name}":true`), noObject(name, "boolean")],
    [withQuery(`"${name}":null`), OK],
    [withQuery(`"${name}":{"__proto__":{"a":1},"constructor":1,"toString":1,"then":1}`), OK],
    [withQuery(`"${name}":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`), OK],
  ]),

  [withQuery('"canary":1'), OTHER_PARAM],
  [withQuery('"__proto__":{"query":1}'), OTHER_PARAM],
  ['{"__proto__":{"query":"{__typename}"}}', OTHER_PARAM],
  [withQuery('"__proto__":null'), OK],
  [withQuery('"constructor":1'), OTHER_PARAM],
  [withQuery('"hasOwnProperty":1'), OTHER_PARAM],
  [withQuery('"then":1'), OTHER_PARAM],

  [withQuery('"documentId":5'), noString("documentId", "number")],
  [withQuery('"documentId":{}'), noString("documentId", "object")],
  ['{"documentId":"canary"}', NO_QUERY],
  ...[1, "canary", [], {}, null, true].flatMap((persistedQuery): [string, object][] => [
    [JSON.stringify({ extensions: { persistedQuery } }), NO_QUERY],
    [JSON.stringify({ query: "{ __typename }", extensions: { persistedQuery } }), OK],
  ]),
  ...[5, {}, [], null, true].map((hash): [string, object] => [`{${hashed(hash)}}`, NO_QUERY]),
  [`{${hashed("canary", 2)}}`, NO_QUERY],
  [`{${hashed("canary", "1")}}`, NO_QUERY],
  [
    `{${hashed("__proto__")}}`,
    { status: 200, errors: ["PERSISTED_QUERY_NOT_FOUND: PersistedQueryNotFound"] },
  ],
  [
    withQuery(hashed("constructor")),
    { status: 200, errors: ["PERSISTED_QUERY_MISMATCH: PersistedQueryMismatch"] },
  ],

  // Names that mean something to JavaScript are names like others.
  [ofQuery("{ then: __typename }"), { status: 200, data: JSON.parse('{"then":"Query"}') }],
  [
    ofQuery('{ __type(name: "Job") { ...A } } fragment A on __Type { then: name }'),
    { status: 200, data: JSON.parse('{"__type":{"then":"Job"}}') },
  ],
  [ofQuery("{ __proto__: __typename }"), { status: 200, data: JSON.parse('{"__proto__":"Query"}') }],
  [ofQuery("{ __typename: __typename toJSON: __typename }"), { status: 200, data: expect.anything() }],
  [ofQuery('{ __type(name: "__proto__") { name } }'), { status: 200, data: { __type: null } }],
  [ofQuery("{ ...constructor }"), invalid('Unknown fragment "constructor".')],
  [ofQuery("{ __proto__ }"), invalid('Cannot query field "__proto__" on type "Query".')],
  [
    ofQuery("subscription { __typename }"),
    invalid("Anonymous Subscription must not select an introspection top level field."),
  ],
];

test.each(titled(BODIES))("POST $title", async ({ sent: body, expected }) => {
  const { post, calls, logged } = await start();
  expect(await post(body)).toEqual(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

test("a trusted document can be named by documentId in a GET", async () => {
  const { get } = await start({ TRUSTED_DOCUMENTS: "schema/persisted-documents.json" });
  expect(await get("documentId=canary")).toEqual(
    refused("Expected the hash of a trusted document, got another.", "PERSISTED_QUERY_NOT_IN_LIST"),
  );
  expect(await get("documentId=a&documentId=b")).toEqual(refused("documentId: expected one value, got 2"));
});
