import { expect, test } from "vitest";
import { refused } from "../support/any-command.ts";
import { commandCalled } from "../support/commands.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

test("recording a metric reads what is selected beyond it once, afterwards", async () => {
  const service = await startFake(({ method }) =>
    method === "GET"
      ? { json: { id: 3, last_metric: { loss: 0.5 } } }
      : { status: 201, json: { id: 9, created_at: "2026-02-01T10:00:00+01:00", values: { loss: 0.5 } } },
  );
  const { ask } = await startGateway({ upstream: service });
  const record = (selection: string) =>
    ask(`mutation { done: ${commandCalled("createExperimentMetric").mutation} {
      metric { id internalId createdAt values { name value } experiment { ${selection} } }
    } }`);
  const metric = {
    id: globalId("MetricRecord:ada/mnist/3/9"),
    internalId: "9",
    createdAt: "2026-02-01T10:00:00+01:00",
    values: [{ name: "loss", value: 0.5 }],
  };
  const post = "POST ada/mnist/experiments/3/metrics";
  for (const [selection, experiment, calls] of [
    ["internalId", { internalId: "3" }, [post]],
    [
      "latestMetrics { name value }",
      { latestMetrics: metric.values },
      [post, post, "GET ada/mnist/experiments/3/"],
    ],
  ] as const) {
    expect(await record(selection)).toEqual({ data: { done: { metric: { ...metric, experiment } } } });
    expect(service.inOrder()).toEqual(calls);
  }
});

const RECORD = `mutation ($values: [MetricValueInput!]!) {
  createExperimentMetric(id: "ada.mnist.3", input: { values: $values }) { metric { id } }
}`;

test.each([
  ["of no value", [], "input.values: expected at least one metric, got none"],
  [
    "with a name twice",
    ["loss", "epoch", "loss"],
    `input.values[2].name: expected each name once, got "loss" again`,
  ],
  ["without a name", [""], `input.values[0].name: expected a name, got ""`],
  ["with a blank name", ["loss", " \t"], `input.values[1].name: expected a name, got " \\t"`],
])("a metric %s is BAD_USER_INPUT and sends nothing", async (_, names, message) => {
  const { data, errors, seen } = await refused(RECORD, { values: names.map((name) => ({ name, value: 1 })) });
  expect(outcomeOf({ data, errors })).toEqual({
    data: { createExperimentMetric: null },
    errors: [failure("createExperimentMetric", "BAD_USER_INPUT", message)],
  });
  expect(seen).toEqual([]);
});

const one = (value: string, variable = "") =>
  `mutation ${variable} { createExperimentMetric(id: "ada.mnist.3", input: { values: [{ name: "loss", value: ${value} }] }) { metric { id } } }`;

test.each([
  ["-1e999 in the variables", RECORD, `{"values": [{"name": "loss", "value": -1e999}]}`],
  ["1e999 in one variable", one("$value", "($value: Float!)"), `{"value": 1e999}`],
  ["1e999 in the document", one("1e999"), "{}"],
  ["text", RECORD, `{"values": [{"name": "loss", "value": "NaN"}]}`],
])(
  "a metric whose value is no finite number is BAD_USER_INPUT and sends nothing: %s",
  async (_, query, variables) => {
    const { codes, seen } = await refused(query, variables);
    expect([codes, seen]).toEqual([["BAD_USER_INPUT"], []]);
  },
);
