import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startAgent } from "../support/agent.ts";
import { still } from "../support/demo-gateway.ts";
import { manifest } from "../support/build.ts";
import VARIABLES from "../../schema/operations/demo-variables.json" with { type: "json" };
import TOOLS from "./tools.json" with { type: "json" };
import { RELEASE_04 } from "../support/gateway.ts";

const start = (env: Record<string, string>) => startAgent({ env });

const OURS = new URL("../../schema/persisted-documents.json", import.meta.url);

const ANY_RUN = "Global id, `reference` or unique name.";

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** A manifest that holds these documents. */
const trusting = (...documents: readonly string[]) =>
  manifest(Object.fromEntries(documents.map((text, index) => [`hash-${index}`, text])));

describe("the tool of a shipped operation", () => {
  test("has the operation's name and comment, and takes its variables as arguments", async () => {
    const { client } = await start({});
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "RunLog")).toEqual({
      name: "RunLog",
      description: "What did a run print? The last lines of its log. Groups have none.",
      inputSchema: {
        type: "object",
        properties: {
          id: { type: "string", description: ANY_RUN },
          lines: {
            type: "integer",
            description: "Number of last lines, 1 to 5000, instead of the first bytes.",
            default: 100,
          },
        },
        required: ["id"],
        additionalProperties: false,
      },
      annotations: READS,
    });
    // Each description consists of whole sentences, without details that matter only to developers.
    for (const { description = "" } of tools) {
      expect(description).toMatch(/^[A-Z].*[.?]$/s);
      expect(description).not.toContain("upstream request");
    }
  });

  test("reports unknown and missing arguments, and lists the accepted ones", async () => {
    const { use, calls } = await start({});
    expect(await use("RunLog", { id: "x", line: 5 })).toEqual({
      text: expect.stringContaining('arguments: expected only id, lines, got "line"'),
      result: {},
      isError: true,
    });
    expect((await use("StartPage", { id: "x" })).text).toContain('expected none, got "id"');
    const query = "{ viewer { username } }";
    const { text } = await use("graphql_query", { query, variables: "{id: 1}" });
    expect(text).toBe("variables: expected a JSON object, got a string that is not one");
    expect((await use("graphql_query", {})).text).toBe("query: expected a GraphQL document, got none");
    await expect(use("run_log", {})).rejects.toThrow("Tool run_log not found; did you mean RunLog?");
    expect(await use("RunLog", { lines: 5 })).toMatchObject({
      isError: true,
      result: {
        errors: [
          {
            message: "id: expected a value of the type ID!, got none",
            extensions: { code: "BAD_USER_INPUT" },
          },
        ],
      },
    });
    expect((await use("RunLog", { id: "x", lines: 1.5 })).text).toContain(
      '"lines: got invalid value 1.5; Int cannot represent',
    );
    const filter = { createdAt: 7, statuses: ["failed"] };
    expect((await use("FindExperiments", { project: "ada.mnist", filter })).text).toContain(
      '"filter.statuses[0]: got invalid value; Value \\"failed\\" does not exist in',
    );
    expect((await use("graphql_query", { variables: {} })).text).toContain("query");
    expect((await use("graphql_query", { query: "{ __typename }", id: 7 })).text).toContain("id");
    expect(calls()).toEqual([]);
  });
});

/** Values of a tool's variables. */
function variablesOf(tool: string): object {
  const file = tool.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
  return Object.entries(VARIABLES).find(([name]) => name.includes(`-${file}`))?.[1] ?? {};
}

test("every tool treats null for an optional argument as an omission", async () => {
  const env = { ...RELEASE_04, UPSTREAM_RATE_LIMIT: "off" };
  const { client, use } = await startAgent({ env, now: still });
  for (const { name, inputSchema } of (await client.listTools()).tools) {
    const { properties = {}, required = [] } = inputSchema;
    const given: Record<string, unknown> = { query: "{ gateway { version } }", ...variablesOf(name) };
    const needed = Object.fromEntries(required.map((each) => [each, given[each]]));
    const nulls = Object.fromEntries(Object.keys(properties).map((each) => [each, null]));
    const answer = await use(name, needed);
    expect([name, answer.isError]).toEqual([name, false]);
    expect([name, await use(name, { ...nulls, ...needed })]).toEqual([name, answer]);
  }
});

test("null inside an argument is kept unless its field has a default", async () => {
  const document = `mutation Keep($id: ID!, $order: RunOrder, $input: UpdateRunInput!) {
    updateExperiment(id: $id, input: $input) {
      experiment { description project { experiments(first: 1, order: $order) { totalCount } } }
    }
  }`;
  const { use } = await start({
    MCP: "write",
    UPSTREAM_PROFILE: "polyaxon-0.4",
    TRUSTED_DOCUMENTS: trusting(document),
  });
  const order = { by: { field: "CREATED_AT" }, direction: null };
  const input = { description: null };
  expect((await use("Keep", { id: "ada.mnist.42", order, input })).result).toEqual({
    data: {
      updateExperiment: { experiment: { description: null, project: { experiments: { totalCount: 46 } } } },
    },
  });
});

describe("the tools of trusted documents", () => {
  test("replace the bundled tools, and agents can run no others", async () => {
    const { names, use, calls, client } = await start({
      TRUSTED_DOCUMENTS: fileURLToPath(OURS),
      MCP: "write",
    });
    const written = await names();
    expect(written).toContain("StartPage");
    expect(written).toContain("Restart");
    // Subscriptions have no single result, and an agent must not have a password.
    for (const name of ["SignIn", "LiveRuns", "graphql_query", "graphql_mutation", "graphql_schema"])
      expect(written).not.toContain(name);
    expect((await use("StartPage")).result).toMatchObject({ data: { viewer: { username: "ada" } } });
    expect(calls()).toEqual(["GET users/"]);
    expect((await client.listResources()).resources).toHaveLength(1);
  });

  test("have descriptions of root fields, JSON Schema inputs and hints", async () => {
    const { client } = await start({
      MCP: "write",
      TRUSTED_DOCUMENTS: trusting(
        `query Runs($of: ID!, $order: RunOrder = { by: { field: CREATED_AT } }, $deep: Boolean!, $names: [String!]) {
          group(id: $of) { experiments(order: $order) { nodes { id @include(if: $deep) latestMetrics(names: $names) { name } } } }
        }`,
        `mutation Record($id: ID!, $records: [MetricRecordInput!]!, $note: String, $with: JSON!) {
          createExperimentMetrics(id: $id, records: $records) { results { outcome } }
          restartExperiment(id: $id, input: { description: $note, parameters: [{ name: "lr", value: $with }] }) { experiment { id } }
        }`,
      ),
    });
    const { tools } = await client.listTools();
    const isText = (key: string, value: unknown) => key === "description" && typeof value === "string";
    const described = JSON.stringify(tools, (key, value: unknown) =>
      isText(key, value) ? "described" : value,
    );
    expect(JSON.parse(described)).toEqual(TOOLS);
    expect(tools.map(({ description }) => description)).toEqual([
      expect.stringMatching(/^group: \w+/),
      expect.stringMatching(/^createExperimentMetrics: .+\nrestartExperiment: .+/),
    ]);
    expect(tools[0]?.inputSchema.properties).toMatchObject({
      of: { description: expect.stringContaining("`ada.mnist.5`") },
      deep: { description: "Included when true." },
    });
  });

  test("exist once for each valid operation with a name", async () => {
    const { client, use } = await start({
      TRUSTED_DOCUMENTS: trusting(
        "{ viewer { id } }",
        "query Broken {",
        "query Strange($x: Nothing) { viewer { id } }",
        "query Output($x: Experiment) { viewer { id } }",
        "query Twice { viewer { id } }",
        "# The last one\n# counts.\nquery Twice { viewer { username } }\nquery Beside { gateway { version } }",
        `"Says what it does." query Described("Says what it is." $id: ID!) { job(id: $id) { rawStatus } }`,
      ),
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ["Twice", "The last one counts."],
      ["Beside", expect.stringMatching(/^gateway: /)],
      ["Described", "Says what it does."],
    ]);
    expect(tools[2]?.inputSchema.properties?.["id"]).toEqual({
      type: "string",
      description: "Says what it is.",
    });
    expect((await use("Twice")).result).toEqual({ data: { viewer: { username: "ada" } } });
    expect((await use("Beside")).result).toMatchObject({ data: { gateway: {} } });
    expect((await use("Described", { id: "ada.mnist.jobs.2" })).result).toMatchObject({
      data: { job: { rawStatus: "running" } },
    });
  });

  test("may be named `constructor` or `__proto__`, and exclude `login`", async () => {
    const { names, use } = await start({
      MCP: "write",
      TRUSTED_DOCUMENTS: trusting(
        "query constructor { viewer { id } }",
        "query __proto__ { viewer { id } }",
        "query Who { viewer { id } } mutation Beside($in: LoginInput!) { login(input: $in) { token } }",
        "mutation Spread($in: LoginInput!) { ...L } fragment L on Mutation { login(input: $in) { token } }",
        "mutation Inline($in: LoginInput!) { ... { login(input: $in) { token } } }",
      ),
    });
    expect(await names()).toEqual(["constructor", "__proto__", "Who"]);
    expect((await use("__proto__")).isError).toBe(false);
  });
});

describe("the schema", () => {
  test("is a resource, and a tool shows its types", async () => {
    const { client, use, calls } = await start({});
    const { contents } = await client.readResource({ uri: "rungraph://schema.graphql" });
    const printed = readFileSync(new URL("../../schema/schema.graphql", import.meta.url), "utf8");
    expect(contents).toEqual([
      { uri: "rungraph://schema.graphql", mimeType: "application/graphql", text: printed.trimEnd() },
    ]);
    const query = await use("graphql_schema");
    expect(query.text).toMatch(/^"""[^]*"""\ntype Query \{[^]*\n\}$/);
    const { text } = await use("graphql_schema", { types: ["RunKind", "LogChunk", "RunKind"] });
    expect(text).toMatch(/^"""[^]*\nenum RunKind \{[^]*\ntype LogChunk \{[^}]*\}$/);
    expect(`${printed}`).toContain(text.split("\n\n")[0]);
    expect(await use("graphql_schema", { types: ["RunKind", "canary"] })).toEqual({
      text: 'types: expected names of types of the schema, such as Query, got "canary"',
      result: {},
      isError: true,
    });
    expect(calls()).toEqual([]);
  });

  test("is hidden from agents when INTROSPECTION is off", async () => {
    const { client, use } = await start({ INTROSPECTION: "off" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("graphql_query");
    expect(JSON.stringify(tools)).not.toContain("graphql_schema");
    expect(client.getServerCapabilities()?.resources).toBe(undefined);
    expect((await use("graphql_query", { query: "{ jo }" })).text).not.toContain("Did you mean");
  });

  test("and the bundled operations use the configured type names", async () => {
    const { client, use, names } = await start({ TYPE_NAMES: "Experiment=Trial,Node=Machine", MCP: "write" });
    const { text } = await use("graphql_schema", { types: ["Trial"] });
    expect(text).toContain("type Trial implements");
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "RunLog")?.description).toMatch(/^What did a run print\?/);
    expect(JSON.stringify(tools.find(({ name }) => name === "graphql_schema"))).not.toContain("Experiment");
    expect(await names()).toContain("Restart");
    expect((await use("ExperimentPage", { id: "ada.mnist.42" })).result).toMatchObject({
      data: { trial: { uniqueName: "ada.mnist.42" } },
    });
  });
});
