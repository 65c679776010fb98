import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startDemoGateway, tokenOf } from "../support/demo-gateway.ts";
import type { Answer, Gateway } from "../support/gateway.ts";

interface Planned {
  readonly data?: null;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[];
  readonly extensions?: {
    readonly explain: {
      readonly requests: readonly {
        readonly method: string;
        readonly template: string;
        readonly round: number;
      }[];
      readonly totals: { readonly requests: number; readonly rounds: number };
    };
  };
}

const POLYAXON = { UPSTREAM_PROFILE: "polyaxon-0.4" };

async function explain(
  { ask }: Pick<Gateway, "ask">,
  mode: "1" | "plan",
  document: string,
  variables: object = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const options = { headers: { "x-rungraph-explain": mode, ...headers } };
  return (await ask<unknown, object>(document, variables, options)) as Answer<unknown> & Planned;
}

/** The requests by round. */
const roundsOf = ({ extensions }: Planned) =>
  extensions?.explain.requests
    .map(({ method, template, round }) => `${round} ${method} ${template}`)
    .toSorted();

const OPERATIONS = new URL("../../schema/operations/", import.meta.url);
const readText = (name: string) => readFileSync(new URL(name, OPERATIONS), "utf8");
const variablesOf = JSON.parse(readText("demo-variables.json")) as Record<string, object>;

describe("a plan", () => {
  test.each([
    "03-experiment-page.graphql",
    "05-status-timeline-page.graphql",
    "06-metric-chart.graphql",
    "07-two-experiments.graphql",
    "09-build-page.graphql",
    "19-best-experiments.graphql",
    "20-origin.graphql",
    "21-project-page.graphql",
    "23-bookmarks.graphql",
    "29-output-files.graphql",
    "31-compare-experiments.graphql",
    "36-project-summary.graphql",
  ])("has the upstream requests of the executed operation: %s", async (file) => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const plan = await explain(gateway, "plan", readText(file), variablesOf[file]);
    expect(gateway.calls()).toEqual([]);
    expect(plan).toMatchObject({ data: null });
    expect(plan.errors).toBeUndefined();
    const executed = await explain(gateway, "1", readText(file), variablesOf[file]);
    expect(roundsOf(plan)).toEqual(roundsOf(executed));
  });

  test("assumes that a list has one item", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const plan = await explain(
      gateway,
      "plan",
      `{ group(id: "ada.mnist.1") { experiments(first: 50) { nodes { jobs { nodes { nodeScheduled { memory } } } } } } }`,
    );
    expect(roundsOf(plan)).toEqual([
      "1 GET {owner}/{project}/experiments",
      "2 GET {owner}/{project}/experiments/{id}/jobs",
      "3 GET cluster/",
    ]);
  });

  test("includes reads of all records that the operation names", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const plan = await explain(
      gateway,
      "plan",
      `{ entities(ids: ["ada.mnist.experiments.4711", "ada.mnist.experiments.4712", "ada.mnist.builds.3"]) {
           ... on Experiment { status } ... on BuildJob { status } } }`,
    );
    expect(roundsOf(plan)).toEqual([
      "1 GET {owner}/{project}/builds/{id}/",
      "1 GET {owner}/{project}/experiments",
    ]);
  });

  test("includes reads of records in lists of bookmarks", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const plan = await explain(
      gateway,
      "plan",
      `{ viewer { bookmarks(kind: JOB, first: 1) { nodes { ... on Job { readme buildJob { commit } } } } } }`,
    );
    expect(roundsOf(plan)).toEqual([
      "1 GET users/",
      "2 GET bookmarks/{owner}/jobs",
      "3 GET {owner}/{project}/builds/{id}/",
      "3 GET {owner}/{project}/jobs/{id}/",
    ]);
  });

  test("executes no command", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const plan = await explain(
      gateway,
      "plan",
      `mutation { stopRuns(ids: ["ada.mnist.experiments.42"]) { results { outcome run { status } } } }`,
    );
    expect(gateway.calls()).toEqual([]);
    expect(plan.data).toBeNull();
    expect(roundsOf(plan)).toEqual([
      "1 GET {owner}/{project}/experiments/{id}/",
      "2 POST {owner}/{project}/experiments/{id}/stop",
      "3 GET {owner}/{project}/experiments/{id}/",
    ]);
  });

  test.each([
    [
      `mutation { stopExperiment(id: "ada.mnist.1.45") { outcome } }`,
      ["1 GET {owner}/{project}/experiments/{id}/", "2 POST {owner}/{project}/experiments/{id}/stop"],
    ],
    [
      `{ group(id: "ada.mnist.1") { experiments(first: 3, order: { by: { metric: "loss" }, direction: ASC }) { nodes { buildJob { commit } } } } }`,
      ["1 GET {owner}/{project}/experiments", "2 GET {owner}/{project}/builds/{id}/"],
    ],
  ])("assumes no names or metrics that records may lack: %s", async (document, requests) => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    expect(roundsOf(await explain(gateway, "plan", document))).toEqual(requests);
  });

  test("leaves nothing in the cache and does not verify the token", async () => {
    const gateway = await startDemoGateway({ env: { ...POLYAXON, CACHE_TTL_MS: "60000" } });
    const document = `{ viewer { username } experiment(id: "ada.mnist.42") { uniqueName description } }`;
    await explain(gateway, "plan", document);
    const { data } = await gateway.ask<{ viewer: object }, object>(document);
    expect(data?.viewer).toEqual({ username: "ada" });
    expect(gateway.calls()).toHaveLength(2);
    const refused = { authorization: "token unknown" };
    await explain(gateway, "plan", document, {}, refused);
    const { errors } = await gateway.ask(document, {}, { headers: refused });
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual([
      "UNAUTHENTICATED",
      "UNAUTHENTICATED",
    ]);
  });

  test.each([
    [
      "a capability of the server",
      '{ project(id: "ada.mnist") { jobs { totalCount } } }',
      {},
      "CAPABILITY_UNAVAILABLE",
    ],
    [
      "the limit of requests",
      readText("03-experiment-page.graphql"),
      { MAX_UPSTREAM_REQUESTS: "1" },
      "REQUEST_LIMIT_EXCEEDED",
    ],
    ["an invalid id", '{ experiment(id: "junk") { status } }', {}, "BAD_USER_INPUT"],
    ["an invalid document", "{ nothing }", {}, "GRAPHQL_VALIDATION_FAILED"],
  ])("reports errors that do not depend on records: %s", async (_, document, env, code) => {
    const gateway = await startDemoGateway({ env });
    const { errors } = await explain(gateway, "plan", document, variablesOf["03-experiment-page.graphql"]);
    expect(errors?.[0]?.extensions.code).toBe(code);
    expect(gateway.calls()).toEqual([]);
  });

  test("ignores errors that only made-up records cause", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const document = `{ project(id: "ada.mnist") { experiments { summary { best(metric: "loss", direction: ASC) { id } } } } }`;
    const plan = await explain(gateway, "plan", document);
    expect(plan.errors).toBeUndefined();
    expect(roundsOf(plan)).toEqual(["1 GET {owner}/{project}/experiments"]);
  });

  test("is refused for a subscription", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const response = await fetch(new URL("graphql", gateway.url), {
      method: "POST",
      headers: {
        accept: "text/event-stream",
        authorization: `token ${tokenOf(gateway.demo, "ada")}`,
        "content-type": "application/json",
        "x-rungraph-explain": "plan",
      },
      body: JSON.stringify({
        query: `subscription { runUpdated(id: "ada.mnist.experiments.42") { run { status } } }`,
      }),
    });
    expect(await response.text()).toContain("expected a query or mutation, got a subscription");
    expect(gateway.calls()).toEqual([]);
  });

  test("is not made if EXPLAIN is off, and the operation is executed", async () => {
    const gateway = await startDemoGateway({ env: { ...POLYAXON, EXPLAIN: "off" } });
    const { data } = await explain(gateway, "plan", "{ viewer { username } }");
    expect(data).toEqual({ viewer: { username: "ada" } });
  });
});
