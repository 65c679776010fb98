import { expect, test } from "vitest";
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

test.each([null, "text", [1]])("parameters that are %j have no names", async (declarations) => {
  expect(await ask({ declarations }, NAMES)).toEqual({
    data: { experiment: { all: null, some: null, lr: null, none: null } },
  });
});
