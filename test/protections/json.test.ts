import { describe, expect, onTestFinished, test, vi } from "vitest";
import { clientOf } from "../live/socket-client.ts";
import { MCP_HEADERS, rpc } from "../support/agent.ts";
import { RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import { jsonText } from "../support/one-read.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";
import { startFake } from "../support/fake.ts";

/** JSON text: arrays nested `levels` deep, with `inner` inside the innermost array. */
const nested = (levels: number, inner = ""): string => "[".repeat(levels) + inner + "]".repeat(levels);

/** Returns a function that counts the calls of `Object.keys`, `values` and `entries` since `watchWalks` was called. */
function watchWalks(): () => number {
  let walks = 0;
  for (const name of ["keys", "values", "entries"] as const) {
    const original = Object[name];
    vi.spyOn(Object, name).mockImplementation((value: object) => {
      walks++;
      return original(value);
    });
  }
  onTestFinished(() => void vi.restoreAllMocks());
  return () => walks;
}

/** More than a request needs, and far less than the number of values in the JSON. */
const FEW = 5_000;

describe("refuses JSON nested over 200 levels, before sending anything, in", () => {
  const TOO_DEEP = "Expected JSON nested at most 200 levels deep, got deeper.";
  const error = { message: TOO_DEEP, extensions: { code: "BAD_REQUEST", requestId: expect.any(String) } };
  const query = 'query { experiment(id: "ada.mnist.42") { name } }';
  const start = () => startBefore({}, { MCP: "read" });

  test.each([
    [
      "the body of a POST",
      "",
      { headers: JSON_BODY, body: `{"query": "{ a }", "variables": ${nested(200)}}` },
    ],
    ["variables of a GET", new URLSearchParams({ query, variables: nested(201) }), { method: "GET" }],
  ])("%s", async (_, search, sent) => {
    const { url, service } = await start();
    const { status, text } = await sendTo(`${url}/graphql?${search}`, sent);
    expect([status, JSON.parse(text)]).toEqual([400, { errors: [error] }]);
    expect(service.calls()).toEqual([]);
  });

  test("an operation over a WebSocket", async () => {
    const { url, service } = await start();
    const variables = { deep: JSON.parse(nested(200)) as unknown };
    const results = clientOf(url, { authorization: "token t0ken" }).iterate({ query, variables });
    await expect(results.next()).rejects.toEqual([error]);
    expect(service.calls()).toEqual([]);
  });

  test("a message from an agent", async () => {
    const { url, service } = await start();
    const body = rpc("tools/call", { name: "graphql_query", arguments: { query } }).replace(
      "{",
      `{"a":${nested(200)},`,
    );
    const { status, text } = await sendTo(`${url}/mcp`, { headers: MCP_HEADERS, body });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { message: TOO_DEEP, data: { code: "BAD_REQUEST" } } });
    expect(service.calls()).toEqual([]);
  });
});

test("many variable values are measured by their bytes, without iterating over them", async () => {
  const { ask } = await startBefore({});
  const query = `mutation ($d: JSON!) { restartExperiment(id: "ada.mnist.42", input: { parameters: [{ name: "a", value: $d }, { name: "a", value: $d }] }) { __typename } }`;
  const variables = { d: Array.from({ length: 500 }, () => JSON.parse(nested(190)) as unknown) };
  expect(Buffer.byteLength(operationText(query, variables))).toBeLessThan(250_000);
  const walks = watchWalks();
  const { errors } = await ask(query, variables);
  expect(errors?.map(({ message }) => message)).toEqual([
    'input.parameters: expected each name once, got "a" twice',
  ]);
  expect(walks()).toBeLessThan(FEW);
});

describe("upstream JSON", () => {
  /** A gateway in front of a service whose list has a run with these parameters, as JSON, and one without parameters. */
  async function startBeforeRuns(declarations: string) {
    const rows = `[{"id": 1, "name": "a", "declarations": ${declarations}}, {"id": 2, "name": "b", "declarations": {}}]`;
    const service = await startFake(() => jsonText(`{"count": 2, "next": null, "results": ${rows}}`));
    const { ask, logged } = await startGateway({ upstream: service, env: RELEASE_04 });
    const namesOf = `{ project(id: "ada.mnist") { experiments { nodes { name } } } }`;
    return { ask, logged, names: () => ask(namesOf) };
  }

  test("is null beyond 200 levels, and a warning is logged once", async () => {
    const { ask, logged } = await startBeforeRuns(`{"it": ${nested(1_000, "1")}, "lr": 1}`);
    const query = `{ project(id: "ada.mnist") { experiments { nodes { name it: parameter(name: "it") { value } lr: parameter(name: "lr") { value } } } } }`;
    for (let round = 0; round < 2; round++)
      expect(await ask(query)).toEqual({
        data: {
          project: {
            experiments: {
              nodes: [
                // The response, its list, the run and its parameters are four levels.
                { name: "a", it: { value: JSON.parse(nested(196, "null")) as unknown }, lr: { value: 1 } },
                { name: "b", it: null, lr: null },
              ],
            },
          },
        },
      });
    const warned = logged()
      .split("\n")
      .filter((line) => line.includes('"level":40'));
    expect(warned).toEqual([expect.stringContaining('"place":"(nested too deeply)"')]);
  });

  test("is measured by its bytes, without iterating over its values", async () => {
    const { names } = await startBeforeRuns(`[${"{},".repeat(250_000)}{}]`);
    const walks = watchWalks();
    expect(await names()).toEqual({
      data: { project: { experiments: { nodes: [{ name: "a" }, { name: "b" }] } } },
    });
    expect(walks()).toBeLessThan(FEW);
  });

  test("with an integer above 2^53 is parsed without a reviver", async () => {
    const { names } = await startBeforeRuns(`{"seed": 12345678901234567890}`);
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => void parse.mockRestore());
    await names();
    expect(parse.mock.calls.filter(([, reviver]) => reviver)).toEqual([]);
  });
});
