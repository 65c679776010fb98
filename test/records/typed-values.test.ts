import { expect, test } from "vitest";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/* Values that the service sends as JSON, in the shape that known servers use. */

const run = (given: object) => ({ "ada/mnist/experiments/1/": { id: 1, ...given } });

const AMOUNTS = "cpuCores { request limit } memoryMiB { request limit } gpus { request limit } raw";

test("returns the requested resources with their units", async () => {
  const memory = { requests: 512, limits: 1_024 };
  const raw = { cpu: { requests: 0.5, limits: 2 }, memory, gpu: null };
  const { ask, service } = await startBefore(run({ resources: raw }), RELEASE_04);
  expect(await ask(`{ experiment(id: "ada.mnist.1") { resources { ${AMOUNTS} } } }`)).toEqual({
    data: {
      experiment: {
        resources: {
          cpuCores: { request: 0.5, limit: 2 },
          memoryMiB: { request: 512, limit: 1_024 },
          gpus: null,
          raw,
        },
      },
    },
  });
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments/1/"]);
});

test("returns null for the resources and data of a run without them", async () => {
  const { ask } = await startBefore(run({ resources: null, data_refs: null }), RELEASE_04);
  const fields = `resources { ${AMOUNTS} } dataReferences { name version }`;
  expect(await ask(`{ experiment(id: "ada.mnist.1") { ${fields} } }`)).toEqual({
    data: { experiment: { resources: null, dataReferences: null } },
  });
});

test("lists a run's data by name, with versions as strings or JSON", async () => {
  const { ask } = await startBefore(run({ data_refs: { train: "abc", test: { v: [1] } } }), RELEASE_04);
  expect(await ask(`{ experiment(id: "ada.mnist.1") { dataReferences { name version } } }`)).toEqual({
    data: {
      experiment: {
        dataReferences: [
          { name: "test", version: '{"v":[1]}' },
          { name: "train", version: "abc" },
        ],
      },
    },
  });
});

test("returns parameters as numbers and strings", async () => {
  const json = `{"id": 1, "declarations": {
    "act": "relu", "flag": true, "layers": [1, "a", {"b": null}], "lr": 0.01, "none": null, "seed": 12345678901234567890, "text": "0.5"
  }}`;
  const { ask } = await startBefore(
    () => ({ text: json, headers: { "content-type": "application/json" } }),
    RELEASE_04,
  );
  expect(await ask(`{ experiment(id: "ada.mnist.1") { parameters { name number text } } }`)).toEqual({
    data: {
      experiment: {
        parameters: [
          { name: "act", number: null, text: "relu" },
          { name: "flag", number: null, text: "true" },
          { name: "layers", number: null, text: '[1,"a",{"b":null}]' },
          { name: "lr", number: 0.01, text: "0.01" },
          { name: "none", number: null, text: "null" },
          { name: "seed", number: 12345678901234567000, text: "12345678901234567890" },
          { name: "text", number: null, text: "0.5" },
        ],
      },
    },
  });
});

test("returns a long parameter as a string in several fields", async () => {
  const long = Array.from({ length: 20_000 }, (_, index) => index);
  const { ask } = await startBefore(run({ declarations: { long } }), RELEASE_04);
  const fields = Array.from({ length: 3 }, (_, index) => `a${index}: parameters { text }`).join(" ");
  const shown = [{ text: JSON.stringify(long) }];
  expect(await ask(`{ experiment(id: "ada.mnist.1") { ${fields} } }`)).toEqual({
    data: { experiment: { a0: shown, a1: shown, a2: shown } },
  });
});

const GPUS = "gpus { index name serial uuid memoryBytes raw }";

const node = (gpus: unknown) => ({
  "cluster/": { nodes: [{ name: "n", sequence: 1 }] },
  "nodes/1": { name: "n", sequence: 1, gpus },
});

test("lists the GPUs of a machine", async () => {
  const raw = { uuid: "3c", index: 0, serial: "GPU-1", name: "Tesla K80", memory: 11_995_578_368, x: 1 };
  const { ask, service } = await startBefore(node([raw, {}]), RELEASE_04);
  const unknown = { index: null, name: null, serial: null, uuid: null, memoryBytes: null };
  const { memory: memoryBytes, x: _, ...known } = raw;
  expect(await ask(`{ node(id: "n") { ${GPUS} } }`)).toEqual({
    data: {
      node: {
        gpus: [
          { ...known, memoryBytes, raw },
          { ...unknown, raw: {} },
        ],
      },
    },
  });
  expect(service.inOrder()).toEqual(["GET cluster/", "GET nodes/1"]);
});

test("returns null and logs a warning if GPUs are not objects", async () => {
  const { ask, logged } = await startBefore(node([{ index: 0 }, "GPU-1"]), RELEASE_04);
  expect(await ask(`{ node(id: "n") { ${GPUS} } }`)).toEqual({ data: { node: { gpus: null } } });
  expect(logged()).toContain('"place":"gpus"');
});
