import { describe, expect, test } from "vitest";
import { connectAgent, type Era, startAgent } from "../support/agent.ts";
import { tokenOf } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { manifest } from "../support/build.ts";
import { operationsIn } from "../support/raw-requests.ts";

const start = (env: Record<string, string> = {}, options: Parameters<typeof startAgent>[1] = {}) =>
  startAgent({ env: { ...RELEASE_04, ...env } }, options);

const READING =
  `StartPage ExperimentPage NestedRunGraph StatusTimeline MetricChart GroupPage BuildPage ClusterPage
  GroupGraph BestExperiments Origin ProjectPage RunLog Bookmarks OutputFiles GroupSummary CompareExperiments FindExperiments WhyFailed
  FindProjects ActiveRuns ProjectSummary MachineLoad FindRuns graphql_query graphql_schema`.split(/\s+/);

interface BestExperiments {
  readonly group: { readonly experiments: { readonly nodes: readonly { readonly id: string }[] } };
}

describe.each<Era>(["auto", "legacy"])("an agent with %s protocol negotiation", (era) => {
  test("lists tools, finds a group's best run and reads its log tail", async () => {
    const { client, names, use, calls } = await start({}, { era });
    expect(client.getNegotiatedProtocolVersion()).toBe(era === "auto" ? "2026-07-28" : "2025-11-25");
    expect(client.getInstructions()).toContain("machine-learning runs");
    expect(await names()).toEqual(READING);
    expect(calls()).toEqual([]);

    const { result, isError } = await use("BestExperiments", {
      id: "ada.mnist.1",
      metric: "loss",
      direction: "ASC",
      filter: { statuses: ["SUCCEEDED"] },
    });
    // The result of the bundled operation.
    const [best] = (result["data"] as BestExperiments).group.experiments.nodes;
    expect({ isError, best }).toMatchObject({
      isError: false,
      best: { id: "RXhwZXJpbWVudDphZGEvbW5pc3QvMTA", uniqueName: "ada.mnist.1.10", best: { value: 0.1055 } },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/experiments?group=1&sort=metric.loss%2C-created_at&query=status%3Asucceeded%2Cmetric.loss%3A%3E%3D-1e308&limit=20",
    ]);

    const log = await use("RunLog", { id: best?.id, lines: 2 });
    expect(log).toMatchObject({
      text: JSON.stringify(log.result),
      result: {
        data: {
          run: {
            uniqueName: "ada.mnist.1.10",
            logs: { lines: [expect.any(String), expect.stringContaining("ada.mnist.1.10 succeeded")] },
          },
        },
      },
      isError: false,
    });
    expect(calls()).toEqual(["GET ada/mnist/experiments/10/", "GET ada/mnist/experiments/10/logs/"]);
  });

  test("with read access has no tool that changes anything", async () => {
    const { use, calls, client } = await start({}, { era });
    const input = { query: `mutation { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id } } }` };
    await expect(use("graphql_mutation", input)).rejects.toThrow("Tool graphql_mutation not found");
    await expect(use("Restart", { id: "ada.mnist.42" })).rejects.toThrow("Tool Restart not found");
    expect((await use("graphql_query", input)).result).toEqual({
      errors: [
        {
          message: "Expected a query, got a mutation.",
          extensions: { code: "BAD_REQUEST", requestId: expect.any(String) },
        },
      ],
    });
    const { tools } = await client.listTools();
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([]);
    expect(calls()).toEqual([]);
  });

  test("with write access makes the changes that the caller may make", async () => {
    const { use, names, calls } = await start({ MCP: "write" }, { era });
    expect((await names()).filter((name) => !READING.includes(name))).toEqual([
      "Restart",
      "StartRun",
      "StopRuns",
      "BookmarkRuns",
      "graphql_mutation",
    ]);
    const query = `mutation Stop { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id phase } } }`;
    expect((await use("graphql_mutation", { query })).result).toEqual({
      data: { stopJob: { job: { id: "Sm9iOmFkYS9tbmlzdC8y", phase: "ACTIVE" } } },
    });
    expect(calls()).toEqual(["GET ada/mnist/jobs/2/", "POST ada/mnist/jobs/2/stop"]);
    const restarted = await use("Restart", { id: "ada.mnist.42" });
    expect(restarted.result).toMatchObject({
      data: {
        restartExperiment: {
          experiment: { cloningStrategy: "RESTART", original: { uniqueName: "ada.mnist.42" } },
        },
      },
    });
    expect(calls()).toEqual(["GET ada/mnist/experiments/61/", "POST ada/mnist/experiments/42/restart/"]);
    const signIn = `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`;
    expect(await use("graphql_mutation", { query: signIn })).toMatchObject({
      text: expect.stringContaining("a password is not for an agent"),
      isError: true,
    });
    const wrong = await use("graphql_mutation", { query: "{ viewer { id } }" });
    expect(wrong.text).toContain("Expected a mutation, got a query.");
    expect(calls()).toEqual([]);
  });
});

test("agent instructions suggest which available tool to call first", async () => {
  const { client } = await start();
  expect(client.getInstructions()).toContain("begin with FindProjects");
  expect(client.getInstructions()).toContain("graphql_query");
  const trusted = await start({ TRUSTED_DOCUMENTS: manifest({ hash: "query Who { viewer { id } }" }) });
  expect(trusted.client.getInstructions()).not.toMatch(/FindProjects|graphql_query/);
});

describe("the caller of a tool", () => {
  test("is identified by a token, and gets GraphQL's errors without one", async () => {
    const { demo, url, ...gateway } = await start();
    const query = "{ viewer { username } }";
    const grace = await connectAgent({ url }, { token: tokenOf(demo, "grace") });
    expect((await grace.use("graphql_query", { query })).result).toEqual({
      data: { viewer: { username: "grace" } },
    });
    expect(gateway.calls()).toEqual(["GET users/"]);
    const nobody = await connectAgent({ url });
    expect(await nobody.names()).toEqual(READING);
    const { errors } = await gateway.ask(query, {}, { token: null });
    const { result, isError } = await nobody.use("graphql_query", { query });
    expect(isError).toBe(true);
    expect(result).toEqual({
      data: { viewer: null },
      errors: errors?.map((error) => ({
        ...error,
        extensions: { ...error.extensions, requestId: expect.any(String) },
      })),
    });
    expect(result).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
    expect(gateway.calls()).toEqual([]);
  });

  test("runs its own queries with variables, and gets errors beside data", async () => {
    const { use, calls } = await start();
    const query = `query ($id: ID!) { found: job(id: $id) { rawStatus } missing: job(id: "ada.mnist.jobs.999") { id } }`;
    const { text, ...reported } = await use("graphql_query", {
      query,
      variables: { id: "ada.mnist.jobs.2" },
    });
    expect(reported).toMatchObject({
      isError: true,
      result: {
        data: { found: { rawStatus: "running" }, missing: null },
        errors: [{ path: ["missing"], extensions: { code: "NOT_FOUND" } }],
      },
    });
    expect(JSON.parse(text)).toEqual(reported.result);
    expect(calls()).toEqual(["GET ada/mnist/jobs/999/", "GET ada/mnist/jobs?query=id%3A2%7C999&limit=100"]);
  });

  test("has its operations counted and logged, but not its token", async () => {
    const headers = { "x-request-id": "agent-7" };
    const { use, names, logged, url, demo } = await start({}, { headers });
    await names();
    await use("StartPage");
    await use("graphql_query", { query: "query Wrong { nothing }" });
    const requestId = "agent-7";
    expect(operationsIn(logged())).toMatchObject([
      { requestId, type: "query", name: "StartPage", codes: [] },
      { requestId, type: "invalid", name: null, codes: ["GRAPHQL_VALIDATION_FAILED"] },
    ]);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    for (const labels of [`type="query",code="OK"`, `type="invalid",code="GRAPHQL_VALIDATION_FAILED"`])
      expect(metrics).toContain(`rungraph_operations_total{${labels}} 1\n`);
    expect(metrics).toContain("rungraph_operations_running 0\n");
    expect(logged()).not.toContain(tokenOf(demo, "ada"));
  });

  test("can request the cost of an operation", async () => {
    const { use } = await start({ EXPLAIN: "on" }, { headers: { "x-rungraph-explain": "1" } });
    expect((await use("StartPage")).result).toMatchObject({
      data: { viewer: { username: "ada" } },
      extensions: { explain: { totals: { requests: 1 } } },
    });
  });
});

describe("result limits", () => {
  const startLong = async () => {
    const service = await startFake(() => ({ json: { id: 42, declarations: { text: "x".repeat(60_000) } } }));
    const gateway = await startGateway({ upstream: service, env: { MCP: "write" } });
    return { service, ...gateway, ...(await connectAgent(gateway, { token: "t0ken" })) };
  };
  const TOO_LONG = {
    message: "Expected a result of at most 100000 bytes, got more.",
    extensions: { code: "OPERATION_TOO_LARGE" },
  };

  test("apply to agents, not to other callers", async () => {
    const { use, ask } = await startLong();
    const select = (fields: string) => `{ experiment(id: "ada.mnist.42") { ${fields} } }`;
    const once = await use("graphql_query", { query: select('parameter(name: "text") { value }') });
    expect(once).toMatchObject({ isError: false, result: { data: { experiment: {} } } });
    const twice = select('a: parameter(name: "text") { value } b: parameter(name: "text") { value }');
    expect((await use("graphql_query", { query: twice })).result).toMatchObject({ errors: [TOO_LONG] });
    expect((await ask(twice)).errors).toBe(undefined);
  });
});
