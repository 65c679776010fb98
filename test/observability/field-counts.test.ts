import { buildSchema, getOperationAST, parse } from "graphql";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createCoordinates } from "../../src/engine/coordinates.ts";
import { createFieldCounts } from "../../src/observability/field-counts.ts";
import { startBefore } from "../support/gateway.ts";

const RECORDS = {
  "users/": { username: "ada" },
  "ada/mnist/experiments/42/": { id: 42, unique_name: "ada.mnist.42", last_status: "running" },
};

const LINE = /^rungraph_field_requests_total\{coordinate="([\w.]+)",client="([^"]+)"\} (\d+)$/gm;

/** Starts a gateway that counts fields. Returns a function that reads the counts, such as `Experiment.status web 2`. */
async function startCounting(which: string) {
  const gateway = await startBefore(RECORDS, { FIELD_METRICS: which });
  const countsOf = async (): Promise<string[]> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return [...text.matchAll(LINE)].map(([, ...parts]) => parts.join(" ")).toSorted();
  };
  return { ...gateway, countsOf };
}

const QUERY = `query Page {
  a: experiment(id: "ada.mnist.42") { status ...Names }
  b: experiment(id: "ada.mnist.42") { status }
  run(id: "ada.mnist.experiments.42") { uniqueName ... on Experiment { __typename status } }
}
fragment Names on Experiment { uniqueName }`;

const as = (name: string) => ({ headers: { "graphql-client-name": name } });

test("each field counts once per operation, under the type that selects it", async () => {
  const { ask, countsOf, service } = await startCounting("all");
  await ask("{ viewer { username } }");
  await ask(QUERY, {}, as("web"));
  await ask(QUERY, {}, as("web"));
  await ask("{ nothing }", {}, as("web"));
  expect(await countsOf()).toEqual([
    "Experiment.status web 2",
    "Experiment.uniqueName web 2",
    "Query.experiment web 2",
    "Query.run web 2",
    "Query.viewer unknown 1",
    "Run.uniqueName web 2",
    "User.username unknown 1",
  ]);
  expect(service.inOrder()).toEqual([
    "GET users/",
    "GET ada/mnist/experiments/42/",
    "GET ada/mnist/experiments/42/",
  ]);
});

test.each(["off", "deprecated"])(
  "with FIELD_METRICS=%s, fields that are not deprecated do not count",
  async (which) => {
    const { ask, countsOf } = await startCounting(which);
    await ask("{ viewer { username } }");
    expect(await countsOf()).toEqual([]);
  },
);

test("counts only deprecated fields, and counts clients beyond 25 as `other`", async () => {
  const schema = buildSchema("type Query { old: Int @deprecated new: Int self: Query }");
  const registry = new Registry();
  const count = createFieldCounts(createCoordinates(schema, "deprecated"), [registry]);
  const operation = getOperationAST(parse("{ new self { old } }"));
  const clients = Array.from({ length: 30 }, (_, index) => `client ${index + 1}`);
  expect(operation).toBeTruthy();
  if (operation) for (const client of clients) count({ operation, fragments: new Map() }, client);
  const lines = [...(await registry.metrics()).matchAll(LINE)].map(([, ...parts]) => parts.join(" "));
  expect(lines).toHaveLength(26);
  expect(lines.slice(-2)).toEqual(["Query.old client 25 1", "Query.old other 5"]);
});
