import { expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { startBefore } from "../support/gateway.ts";

const ask = async (record: object, selection: string) => {
  const { service, ...gateway } = await startBefore({ "ada/mnist/experiments/42/": { id: 42, ...record } });
  const answer = await gateway.ask(`{ experiment(id: "ada.mnist.42") { ${selection} } }`);
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/"]);
  return answer;
};

const NAMES = `all: parameters { name value } some: parameters(names: ["lr", "no"]) { name value }
  lr: parameter(name: "lr") { value } opt: parameter(name: "opt") { name value } none: parameter(name: "toString") { value }`;

test("returns parameters sorted by name, whatever their names", async () => {
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
        lr: { value: 0.1 },
        // A null parameter exists.
        opt: { name: "opt", value: null },
        none: null,
      },
    },
  });
});

const NONE = { experiment: { all: null, some: null, lr: null, opt: null, none: null } };

test("if a run's parameters are null, each name is null", async () => {
  expect(await ask({ declarations: null }, NAMES)).toEqual({ data: NONE });
});

test.each([
  ["lr: 0.1", "string"],
  [[1], "list"],
])("parameters that are %j return null with an error", async (declarations, type) => {
  const answer = await ask({ declarations }, NAMES);
  const message = `declarations: expected an object of names and values, got a ${type} from the service.`;
  expect(answer.data).toEqual(NONE);
  expect(errorsOf(answer)).toEqual(
    ["all", "some", "lr", "opt", "none"].map((at) =>
      failure(`experiment.${at}`, "UPSTREAM_BAD_RESPONSE", message),
    ),
  );
});

test("a metric is found by its name, otherwise by its path", async () => {
  const metrics = { "m.loss": 1, m: { loss: 2, acc: { top: 0.5, bad: "NaN" } } };
  const names = `["m.loss", "m.acc.top", "m.acc.bad", "m.no", "m.loss"]`;
  expect(
    await ask(
      { last_metric: metrics },
      `latestMetrics(names: ${names}) { name value raw } latestMetric(name: "m.acc.top") { value }
       bad: latestMetric(name: "m.acc.bad") { name value raw } none: latestMetric(name: "m.no") { value }`,
    ),
  ).toEqual({
    data: {
      experiment: {
        latestMetrics: [
          { name: "m.acc.bad", value: null, raw: "NaN" },
          { name: "m.acc.top", value: 0.5, raw: 0.5 },
          { name: "m.loss", value: 1, raw: 1 },
        ],
        latestMetric: { value: 0.5 },
        bad: { name: "m.acc.bad", value: null, raw: "NaN" },
        none: null,
      },
    },
  });
});

const nested = (levels: number, value: unknown) =>
  Array.from({ length: levels }, (_, level) => `k${level}`).reduceRight<unknown>(
    (inner, key) => ({ [key]: inner }),
    value,
  ) as object;
const EIGHT = "k0.k1.k2.k3.k4.k5.k6.k7";

test("a name addresses at most eight levels of objects", async () => {
  const selection = `value: parameter(name: "${EIGHT}") { value } deeper: parameter(name: "${EIGHT}.k8") { value }
    some: parameters(names: ["${EIGHT}", "${EIGHT}.k8", "k0.k1"]) { name }`;
  expect(await ask({ declarations: nested(9, 1) }, selection)).toEqual({
    data: {
      experiment: { value: { value: { k8: 1 } }, deeper: null, some: [{ name: "k0.k1" }, { name: EIGHT }] },
    },
  });
});

test("finds parameters with dots in their keys, preferring the longest first key", async () => {
  const declarations = { a: { "b.c": 1, "b.d": { e: 2 } }, "a.b": { c: 3 }, "x.": { ".y": 4 }, "": { z: 5 } };
  const names = ["a.b.c", "a.b.d.e", "a.b", "x...y", ".z", "a.b.d", "a.c"];
  const selection = `parameters(names: ${JSON.stringify(names)}) { name value }`;
  expect(await ask({ declarations }, selection)).toEqual({
    data: {
      experiment: {
        parameters: [
          { name: ".z", value: 5 },
          { name: "a.b", value: { c: 3 } },
          { name: "a.b.c", value: 3 },
          { name: "a.b.d", value: { e: 2 } },
          { name: "a.b.d.e", value: 2 },
          { name: "x...y", value: 4 },
        ],
      },
    },
  });
});
