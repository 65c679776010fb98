import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";

const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join(",");
const names = (count: number, prefix = "name") => list(count, (index) => `"${prefix}${index}":${index}`);

/** A record with this text under `declarations`. */
const declared = (text: string) => `{"id":42,"name":"base","declarations":${text}}`;

const NAME = '{ experiment(id: "ada.mnist.42") { name } }';
const LAST_METRIC = '{ experiment(id: "ada.mnist.42") { name lastMetric(names: ["name7"]) { value } } }';
const RUNS = `{ project(owner: "ada", name: "mnist") { experiments(first: 500) { nodes { internalId config { version } } } } }`;

/** A service with one answer for everything. */
const startWith = (text: string) =>
  startFake(() => ({ text, headers: { "content-type": "application/json" } }));

async function read(text: string, query = NAME) {
  const service = await startWith(text);
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const { data, errors = [] } = (await ask(query)) as Answer<unknown>;
  return errors.length > 0 ? errors.map(({ message, extensions }) => [extensions["code"], message]) : data;
}

const BASE = { experiment: { name: "base" } };

/** A run as long as real ones get: a configuration of 2 kB, 60 declarations, 60 metrics. */
const run = (id: number) => {
  const named = (prefix: string) => names(60, prefix);
  const steps = list(20, (index) => `"pip install package-${index}"`);
  return `{"id":${id},"name":"run ${id}","tags":["a","b"],"declarations":{${named("parameter_")}},"last_metric":{${named("metric_")}},
    "config":{"version":1,"kind":"experiment","build":{"image":"python","build_steps":[${steps}]},"environment":{${named("KEY_")}}}}`;
};

describe("a large answer of the service", () => {
  test("of 500 runs with all that runs have is read", async () => {
    const text = `{"count":500,"next":null,"results":[${list(500, run)}]}`;
    expect(text.length).toBeGreaterThan(1_500_000);
    expect(await read(text, RUNS)).toEqual({
      project: {
        experiments: {
          nodes: Array.from({ length: 500 }, (_, id) => ({ internalId: `${id}`, config: { version: 1 } })),
        },
      },
    });
  });

  test("of 90,000 metric records is read", async () => {
    const items = list(
      90_000,
      (id) => `{"id":${id},"experiment":42,"created_at":"2026-06-01T12:00:00Z","values":{"loss":0.125}}`,
    );
    expect(await read(declared(`[${items}]`))).toEqual(BASE);
  });

  test("with too many metrics has none", async () => {
    const of = (count: number) => `{"id":42,"name":"base","last_metric":{${names(count)}}}`;
    const metrics = (lastMetric: unknown) => ({ experiment: { name: "base", lastMetric } });
    expect(await read(of(10_000), LAST_METRIC)).toEqual(metrics([{ value: 7 }]));
    expect(await read(of(10_001), LAST_METRIC)).toEqual(metrics(null));
  });

  test.each([
    ["9.9 million letters", "x".repeat(9_900_000)],
    ["quotes", '\\"'.repeat(4_900_000)],
    ["backslashes", "\\\\".repeat(4_900_000)],
    ["NaN", "NaN ".repeat(2_400_000)],
    ["a million escapes", '\\"x'.repeat(1_000_000)],
  ])("with NaN beside a long text is read: %s", async (_, text) => {
    const value = declared(`"${text}"`).replace("{", '{"last_metric":{"name7":NaN,"name8":-Infinity},');
    expect(await read(value, LAST_METRIC)).toEqual({
      experiment: { name: "base", lastMetric: [{ value: null }] },
    });
  });
});
