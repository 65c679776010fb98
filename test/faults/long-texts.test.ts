import { expect, onTestFinished, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { post } from "../support/raw-requests.ts";

/**
 * Length of a text, in characters. For this length, linear work takes a fraction of a second, and quadratic work takes longer than any test
 * may take.
 */
const LENGTH = 3_000_000;

const repeated = (words: string) => words.repeat(LENGTH / words.length);
const inString = (words: string) => ({ query: `{ a "${repeated(words)}" }` });
const as = "a".repeat(LENGTH);

const ends = (message: string) => `${message.slice(0, 1_000)} … ${message.slice(-1_000)}`;

const errorOf = (message: string, code: string, column: number, line = 1) => ({
  message,
  locations: [{ line, column }],
  extensions: { code, requestId: expect.any(String) },
});
const NO_NAME = errorOf("Syntax Error: Expected Name, found String", "GRAPHQL_PARSE_FAILED", 5);
const LIST =
  'query ($filter: RunFilter) { project(id: "ada.mnist") { experiments(filter: $filter) { totalCount } } }';
const LOG = 'query ($n: Int) { experiment(id: "ada.mnist.42") { logs(tailLines: $n) { lines } } }';

test.each<[name: string, body: object, error: object]>([
  ["reasons in a string", inString("got invalid value "), NO_NAME],
  ["expectations in a string", inString("Expected "), NO_NAME],
  ["refusals in a string", inString("cannot represent "), NO_NAME],
  [
    "a type like an unknown one",
    { query: `{ ...F } type ${as} { id: ID } fragment F on ${as.slice(LENGTH / 4)}b { id }` },
    errorOf(ends(`The "${as}" definition is not executable.`), "GRAPHQL_VALIDATION_FAILED", 10),
  ],
  [
    "an unknown field",
    { query: `{ b${as}b }` },
    errorOf(ends(`Cannot query field "b${as}b" on type "Query".`), "GRAPHQL_VALIDATION_FAILED", 3),
  ],
  [
    "a variable with reasons",
    { query: LOG, variables: { n: repeated("got invalid value; Int ") } },
    errorOf('Variable "$n" got invalid value; Int cannot represent non-integer value', "BAD_USER_INPUT", 8),
  ],
  ...["Did you mean ", " ".repeat(10)].map((words): [string, object, object] => {
    const key = repeated(words);
    const message = `Variable "$filter" got invalid value; Field "${key}" is not defined by type "RunFilter".`;
    const body = { query: LIST, variables: { filter: { [key]: 1 } } };
    return [`a key of "${words}"`, body, errorOf(ends(message), "BAD_USER_INPUT", 8)];
  }),
])("a long request with %s gets a short error in linear time", async (_, body, error) => {
  const gateway = await startGatewayProcess(null, { MAX_BODY_BYTES: `${2 * LENGTH}`, INTROSPECTION: "off" });
  onTestFinished(gateway.kill);
  const response = await post(`${gateway.url}/graphql`, body);
  expect(await response.json()).toEqual({ errors: [error] });
});

test("a CSV cell resembling a long number is written in linear time", async () => {
  const description = `-${"1".repeat(LENGTH)}x`;
  const results = [{ id: 42, unique_name: "ada.mnist.42", description }];
  const service = await startFake(() => ({ json: { count: 1, next: null, results } }));
  const gateway = await startGatewayProcess(service.url, { UPSTREAM_PROFILE: "polyaxon-0.4" });
  onTestFinished(gateway.kill);
  const headers = { authorization: "token t0ken" };
  const response = await fetch(`${gateway.url}/export/ada.mnist/runs.csv?columns=description`, { headers });
  expect(await response.text()).toBe(`description\r\n'${description}\r\n`);
});

test("errors after many lines are located in linear time", async () => {
  const names = Array.from({ length: 350 }, (_, index) => `a${100 + index}`);
  const fields = names.map((name) => `${name}: run(id: "!") { id }`);
  const gateway = await startGatewayProcess(null, { MAX_BODY_BYTES: `${2 * LENGTH}` });
  onTestFinished(gateway.kill);
  const query = `${"\n".repeat(LENGTH / 2)}{ ${fields.join(" ")} }`;
  const response = await post(`${gateway.url}/graphql`, { query });
  const message = expect.stringContaining('id: expected a global id or a name such as ada.mnist.42, got "!"');
  expect(await response.json()).toEqual({
    data: Object.fromEntries(names.map((name) => [name, null])),
    errors: names.map((name, index) => ({
      ...errorOf("", "BAD_USER_INPUT", 3 + index * `${fields[0]} `.length, 1 + LENGTH / 2),
      message,
      path: [name],
    })),
  });
});
