import { expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { startBefore } from "../support/gateway.ts";

const ask = async (record: object, selection: string) => {
  const { service, ...gateway } = await startBefore({ "ada/mnist/experiments/42/": { id: 42, ...record } });
  const answer = await gateway.ask(`{ experiment(id: "ada.mnist.42") { ${selection} } }`);
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/"]);
  return answer;
};

const NAMES = `all: declarations { name value } some: declarations(names: ["lr", "no"]) { name value }
  lr: declaration(name: "lr") none: declaration(name: "toString")`;

test("parameters are told by name, in order, whatever their names", async () => {
  const declarations = JSON.parse('{"lr": 0.1, "layers": [1, 2], "__proto__": "x", "opt": null}') as object;
  expect(await ask({ declarations }, NAMES)).toEqual({
    data: {
      experiment: {
        all: [
          { name: "__proto__", value: "x" },
          { name: "layers", value: [1, 2] },
          { name: "lr", value: 0.1 },
          { name: "opt", value: null },
        ],
        some: [{ name: "lr", value: 0.1 }],
        lr: 0.1,
        none: null,
      },
    },
  });
});

const NONE = { experiment: { all: null, some: null, lr: null, none: null } };

test("parameters that are null have no names", async () => {
  expect(await ask({ declarations: null }, NAMES)).toEqual({ data: NONE });
});

test.each([
  ["lr: 0.1", "string"],
  [[1], "list"],
])("parameters that are %j cannot be read, which is said", async (declarations, type) => {
  const answer = await ask({ declarations }, NAMES);
  const message = `declarations: expected an object of names and values, got a ${type} from the service.`;
  expect(answer.data).toEqual(NONE);
  expect(errorsOf(answer)).toEqual(
    ["all", "some", "lr", "none"].map((at) => failure(`experiment.${at}`, "UPSTREAM_BAD_RESPONSE", message)),
  );
});

test("a metric is found by its name, else by its path", async () => {
  const metrics = { "m.loss": 1, m: { loss: 2, acc: { top: 0.5, bad: "NaN" } } };
  const names = `["m.loss", "m.acc.top", "m.acc.bad", "m.no", "m.loss"]`;
  expect(
    await ask(
      { last_metric: metrics },
      `latestMetrics(names: ${names}) { name value raw } lastMetricValue(name: "m.acc.top")`,
    ),
  ).toEqual({
    data: {
      experiment: {
        latestMetrics: [
          { name: "m.acc.bad", value: null, raw: "NaN" },
          { name: "m.acc.top", value: 0.5, raw: 0.5 },
          { name: "m.loss", value: 1, raw: 1 },
        ],
        lastMetricValue: 0.5,
      },
    },
  });
});
