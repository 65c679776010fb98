import { describe, expect, test } from "vitest";
import { connectAgent, startAgent } from "../support/agent.ts";
import { manifest } from "../support/build.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/*
 * Tools must satisfy all hosts: a strict host rejects all tools if one is invalid. The rules are published for functions of OpenAI
 * ("Structured Outputs", "Supported schemas"), of Gemini ("Function calling", the errors of its API) and of Claude ("Strict tool use",
 * "JSON Schema limitations"). Hosts themselves turn optional arguments into required ones.
 */

interface Schema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "array", "object"]);
/** The allowed keywords. References, alternatives, bounds and conditions are missing, because not all hosts accept them. */
const KEYWORDS = "type description default enum items properties required additionalProperties".split(" ");
const [MOST_LEVELS, MOST_PROPERTIES, MOST_ENUM_VALUES] = [5, 100, 500];
const NAME = /^[A-Za-z_][\w-]{0,63}$/;

const everySchema = (schema: Schema): Schema[] => [
  schema,
  ...(schema.items ? everySchema(schema.items) : []),
  ...Object.values(schema.properties ?? {}).flatMap(everySchema),
];

const levelsOf = ({ properties = {}, items }: Schema): number => {
  const inner = Math.max(0, ...Object.values(properties).map(levelsOf));
  return items ? levelsOf(items) : Object.keys(properties).length > 0 ? 1 + inner : 0;
};

/** Faults that make a host refuse a schema below the root. */
function issuesOf(schema: Schema): string[] {
  const { type, properties = {}, required = [], enum: values = [] } = schema;
  const names = Object.keys(properties);
  const problems: readonly (readonly [boolean, string])[] = [
    [!TYPES.has(type), "no type"],
    [type === "object" && names.length === 0, "an object of any form"],
    [type === "object" && schema.additionalProperties !== false, "an open object"],
    [type === "array" && schema.items === undefined, "a list of anything"],
    [Object.keys(schema).some((keyword) => !KEYWORDS.includes(keyword)), "an unknown keyword"],
    [!required.every((name) => names.includes(name)), "an unknown name is required"],
    [!names.every((name) => NAME.test(name)), "a name with other signs"],
    [values.length > 0 && type !== "string", "a choice of no strings"],
    [!values.every((value) => typeof value === "string" && value !== ""), "a choice of other values"],
  ];
  return problems.flatMap(([isProblem, problem]) =>
    isProblem ? `${problem}: ${JSON.stringify(schema)}` : [],
  );
}

/** Reasons for a host to refuse a tool. A tool without arguments has an object without properties at its root. */
function refusedOf(name: string, inputSchema: Schema): string[] {
  const [, ...inner] = everySchema(inputSchema);
  const root = { ...inputSchema, properties: inputSchema.properties ?? {} };
  const properties = everySchema(root).flatMap((each) => Object.keys(each.properties ?? {}));
  const values = inner.flatMap((each) => each.enum ?? []);
  const isEmpty = Object.keys(root.properties).length === 0;
  return [
    ...(NAME.test(name) ? [] : ["the name"]),
    ...(root.type === "object" && "properties" in inputSchema ? [] : ["no object"]),
    ...(levelsOf(root) > MOST_LEVELS ? ["too deep"] : []),
    ...(properties.length > MOST_PROPERTIES ? ["too many properties"] : []),
    ...(values.length > MOST_ENUM_VALUES ? ["too many choices"] : []),
    ...(isEmpty ? [] : issuesOf(root)),
    ...inner.flatMap(issuesOf),
  ].map((problem) => `${name}: ${problem}`);
}

const trusting = (...documents: readonly string[]) =>
  manifest(Object.fromEntries(documents.map((text, index) => [`hash-${index}`, text])));

describe("strict hosts", () => {
  test.each([
    ["the bundled operations", {}],
    [
      "trusted documents with any type of variable",
      {
        TRUSTED_DOCUMENTS: trusting(
          `query Filtered($filter: RunFilter, $order: RunOrder, $from: [Int!], $at: Float, $is: Boolean) {
            project(id: "ada.mnist") { experiments(filter: $filter, order: $order) { nodes { id } } }
          }`,
          `mutation Again($id: ID!, $lr: JSON! = { lr: 1 }, $all: [JSON!], $when: DateTime) {
            restartExperiment(id: $id, input: { parameters: [{ name: "lr", value: $lr }] }) { experiment { id } }
          }`,
          `query ${"Long".repeat(16)} { viewer { id } }`,
          `query ${"Long".repeat(16)}X { viewer { id } }`,
        ),
      },
    ],
  ])("accept the tools of %s", async (_, env) => {
    const { client } = await startAgent({ env: { MCP: "write", ...env } });
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(2);
    // Safe: a JSON Schema has keywords of these types.
    expect(tools.flatMap(({ name, inputSchema }) => refusedOf(name, inputSchema as Schema))).toEqual([]);
  });

  test("receive all bundled tools in at most 36,000 characters", async () => {
    const { client } = await startAgent({ env: { MCP: "write" } });
    expect(JSON.stringify((await client.listTools()).tools).length).toBeLessThanOrEqual(36_000);
  });
});

/** Starts a gateway for an agent that may write, in front of a service that starts any run. */
async function startWriting(env: Record<string, string> = {}) {
  const run = { id: 43, unique_name: "ada.mnist.43", last_status: "created", config: null, last_metric: {} };
  const gateway = await startBefore(() => ({ json: run }), { ...RELEASE_04, MCP: "write", ...env });
  const sent = () =>
    gateway.service
      .seen()
      .flatMap(({ method, body }) => (method === "POST" ? [JSON.parse(body) as unknown] : []));
  return { sent, ...(await connectAgent(gateway, { token: "t0ken" })) };
}

describe("a JSON argument", () => {
  const declarations = { lr: 0.5, layers: [64, 32], "data.path": "a" };
  const valuesOf = (write: (value: unknown) => unknown) =>
    Object.entries(declarations).map(([name, value]) => ({ name, value: write(value) }));

  test.each([
    ["as a string of JSON", valuesOf((value) => JSON.stringify(value))],
    ["as it is", valuesOf((value) => value)],
  ])("is accepted %s", async (_, parameters) => {
    const { use, sent } = await startWriting();
    const restarted = await use("Restart", { id: "ada.mnist.42", input: { parameters } });
    expect(restarted.isError).toBe(false);
    expect(sent()).toEqual([{ config: { declarations } }]);
  });

  test("that is not valid JSON is refused like any other wrong value", async () => {
    const { use, sent } = await startWriting({
      TRUSTED_DOCUMENTS: trusting(`mutation Create($specification: JSON!) {
        createExperiment(project: "ada.mnist", input: { specification: $specification }) { experiment { id } }
      }`),
    });
    const refused = await use("Create", { specification: "{run: {cmd: x}" });
    expect(refused).toMatchObject({
      isError: true,
      text: expect.stringContaining('"specification: expected an object'),
    });
    expect(sent()).toEqual([]);
  });

  test.each([
    ["as a string of JSON", `{"id":"ada.mnist.jobs.2"}`],
    ["as it is", { id: "ada.mnist.jobs.2" }],
  ])("is accepted for variables %s", async (_, variables) => {
    const { use } = await startAgent();
    const query = "query ($id: ID!) { job(id: $id) { uniqueName } }";
    expect((await use("graphql_query", { query, variables })).result).toEqual({
      data: { job: { uniqueName: "ada.mnist.jobs.2" } },
    });
  });
});
