import { expect, test } from "vitest";
import { refused } from "../support/any-command.ts";
import { failure, outcomeOf } from "../support/errors.ts";

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
