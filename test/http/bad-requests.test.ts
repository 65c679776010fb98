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
const noObject = (name: string, got: string) => refused(`${name}: expected a JSON object, got ${got}`);
const noString = (name: string, got: string) => refused(`${name}: expected a string, got ${got}`);
const twice = (name: string) => refused(`${name}: expected one value, got 2`);
const NO_QUERY = refused("Must provide query string.");
const BROKEN_ENCODING = refused("Expected a query string in percent-encoded UTF-8.");
const unresolved = (message: string) => refused(message, "OPERATION_RESOLUTION_FAILURE");
const misnamed = (got: string) =>
  unresolved(`Expected operationName to be the name of an operation of the document, got ${got}.`);
const NOT_NAMED = unresolved(
  'Expected operationName, because the document has 2 operations. Did you mean "A", "B"?',
);
const NO_OPERATION = unresolved("Expected an operation, got a document without one.");

const encoded = encodeURIComponent;
const QUERY = "query={__typename}";

test.each<[string, object]>([
  [`variables=${encoded("canary")}`, noObject("variables", "text that is no JSON")],
  [`variables=${encoded("[".repeat(3_000))}`, noObject("variables", "text that is no JSON")],
  ["variables=[]", noObject("variables", "array")],
  ["variables=null", OK],
  [`variables=${encoded('{"__proto__":{"a":1},"constructor":1,"then":1}')}`, OK],
  [`variables=${encoded(`${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`)}`, OK],
  [`extensions=${encoded('"canary"')}`, noObject("extensions", "string")],
  ["extensions=", OK],
  ["variables=%7B%ZZ", BROKEN_ENCODING],
  ['variables={"a":"%ED%A0%80"}', BROKEN_ENCODING],
  ["variables={}&variables=1", twice("variables")],
  [QUERY, twice("query")],
  ["operationName=A&operationName=B", twice("operationName")],
  ["operationName=", OK],
  ["operationName=__proto__", misnamed('"__proto__"')],
  // A parameter that is not GraphQL's may be a proxy's.
  ["canary=1&__proto__=1", OK],
])("GET ?query={__typename}&%.60s", async (search, expected) => {
  const { get, calls, logged } = await start();
  expect(await get(`${QUERY}&${search}`)).toEqual(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

const withQuery = (rest: string) => `{"query":"{__typename}",${rest}}`;
const ofQuery = (query: string) => JSON.stringify({ query });
const noBody = (got: string) => refused(`Expected a JSON object as the body, got ${got}.`);
const NO_JSON = refused("Expected a JSON object as the body, got text that is no JSON");
const NO_UTF8 = refused("Expected a body in UTF-8.");
const OTHER_PARAM = refused(
  "Expected only the parameters query, operationName, variables, extensions, documentId, onError.",
);
const unparsed = (message: string) => ({ status: 200, errors: [`GRAPHQL_PARSE_FAILED: ${message}`] });
const invalid = (message: string) => ({ status: 200, errors: [`GRAPHQL_VALIDATION_FAILED: ${message}`] });
const hashed = (text: string, sha256Hash = createHash("sha256").update(text).digest("hex")) =>
  `"extensions":${JSON.stringify({ persistedQuery: { version: 1, sha256Hash } })}`;
const read = (data: string) => ({ status: 200, data: JSON.parse(data) as object });

test.each<[string | Buffer, object]>([
  ["", NO_JSON],
  ["[".repeat(100_000), NO_JSON],
  ["null", noBody("null")],
  ['"canary"', noBody("string")],
  [`[${withQuery('"variables":{}')}]`, noBody("an array: no batches")],
  // The byte order mark and no other: JSON is UTF-8.
  [`\u{feff}${withQuery('"variables":{}')}`, OK],
  [Buffer.from(withQuery('"variables":{}'), "utf16le"), NO_JSON],
  [Buffer.from(ofQuery("{ __typename #é\n }"), "latin1"), NO_UTF8],
  ["{}", NO_QUERY],
  [
    '{"documentId":"canary"}',
    {
      status: 200,
      errors: [
        "PERSISTED_QUERY_NOT_FOUND: Expected the text of the document: this gateway knows none by `documentId`.",
      ],
    },
  ],
  ['{"query":["{__typename}"]}', noString("query", "array")],
  [`{"query":5,${hashed("5")}}`, noString("query", "number")],
  ['{"query":" "}', unparsed("Syntax Error: Unexpected <EOF>.")],
  ['{"query":"{__typename #\\ud800\\n}"}', unparsed("Syntax Error: Invalid character: U+D800.")],
  ['{"query":"{__typename}","query":"{no}"}', invalid('Cannot query field "no" on type "Query".')],
  [
    ofQuery('{ job(id: "a.b.jobs.1") { logs(last: 1) { text } } }'),
    invalid(
      'Unknown argument "last" on field "Job.logs". Lists go forward: for the last items, turn the `direction` of `order` where a list has it; a log has `tailLines`.',
    ),
  ],
  [withQuery('"operationName":[]'), noString("operationName", "array")],
  [withQuery('"operationName":null'), OK],
  [withQuery('"operationName":"canary"'), misnamed('"canary"')],
  [withQuery('"operationName":"\\ud800"'), misnamed("a text that is no name")],
  [ofQuery("query A { __typename } query B { __typename }"), NOT_NAMED],
  [ofQuery("type A { a: Int }"), NO_OPERATION],
  [withQuery('"variables":"{}"'), noObject("variables", "string")],
  [withQuery('"extensions":[]'), noObject("extensions", "array")],
  [withQuery('"variables":{"__proto__":{"a":1},"constructor":1,"then":1}'), OK],
  [withQuery('"canary":1'), OTHER_PARAM],
  [withQuery('"__proto__":{"query":1}'), OTHER_PARAM],
  [withQuery('"documentId":5'), noString("documentId", "number")],
  ['{"extensions":{"persistedQuery":[]}}', NO_QUERY],
  [withQuery('"extensions":{"persistedQuery":1}'), OK],
  [
    `{${hashed("", "__proto__")}}`,
    { status: 200, errors: ["PERSISTED_QUERY_NOT_FOUND: PersistedQueryNotFound"] },
  ],
  // Names that mean something to JavaScript are names like others.
  [ofQuery("{ then: __typename }"), read('{"then":"Query"}')],
  [ofQuery("{ __proto__: __typename }"), read('{"__proto__":"Query"}')],
  [ofQuery("{ __typename toJSON: __typename }"), read('{"__typename":"Query","toJSON":"Query"}')],
  [ofQuery("{ ...constructor }"), invalid('Unknown fragment "constructor".')],
  [ofQuery("{ __proto__ }"), invalid('Cannot query field "__proto__" on type "Query".')],
])("POST %.80s", async (body, expected) => {
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
  expect(await get("documentId=a&documentId=b")).toEqual(twice("documentId"));
});
