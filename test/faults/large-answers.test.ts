import { describe, expect, onTestFinished, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { startWatched } from "../support/watched-process.ts";

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

const refused = (said: string) => [["UPSTREAM_BAD_RESPONSE", `The service's answer ${said}.`]];
const TOO_MANY_VALUES = refused("has too many values");
const TOO_MANY_KEYS = refused("has more than 30000 different keys");

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

  // Beside the items: the record, its three keys, and the list.
  test.each([
    ["numbers", 2_000_000, () => "1"],
    ["NaN", 1_000_000, () => "NaN"],
    ["Infinity", 1_000_000, () => "Infinity"],
    ["texts", 333_333, (index: number) => `"${index}"`],
    ["texts with escapes", 250_000, () => '"\\n"'],
    ["lists", 500_000, () => "[]"],
    ["numbers by name", 400_000, () => '{"a":1}'],
  ])("has as many values as can be parsed in a moment: %s", async (_, most, item) => {
    const of = (count: number) => declared(`[${list(count, item)}]`);
    expect(await read(of(most - 20))).toEqual(BASE);
    expect(await read(of(most + 20))).toEqual(TOO_MANY_VALUES);
  });

  test("of 90,000 metric records is read", async () => {
    const items = list(
      90_000,
      (id) => `{"id":${id},"experiment":42,"created_at":"2026-06-01T12:00:00Z","values":{"loss":0.125}}`,
    );
    expect(await read(declared(`[${items}]`))).toEqual(BASE);
  });

  test.each([
    ["declarations", (count: number) => declared(`{${names(count)}}`)],
    ["the record itself", (count: number) => `{"id":42,"name":"base",${names(count)}}`],
    [
      "objects with a key each",
      (count: number) => declared(`[${list(count, (index) => `{"name${index}":0}`)}]`),
    ],
    ["names before a blank", (count: number) => declared(`{${names(count).replaceAll(":", " :")}}`)],
    ["an order of their own", (count: number) => declared(`[${list(count / 4, shuffled)}]`)],
  ])("has at most some 30,000 different keys: %s", async (_, of) => {
    expect(await read(of(29_900))).toEqual(BASE);
    expect(await read(of(60_000))).toEqual(TOO_MANY_KEYS);
  });

  /** Objects of few names, no two of which begin with the same two. */
  function shuffled(index: number) {
    return `{"a${index % 20}":0,"b${Math.floor(index / 20)}":0,"c":0,"d":0}`;
  }

  test("repeats its keys as often as it likes", async () => {
    const items = list(40_000, () => '{"loss":1,"accuracy":2}');
    expect(await read(declared(`[${items}]`))).toEqual(BASE);
  });

  test("with too many metrics has none, and more make it unreadable", async () => {
    const of = (count: number) => `{"id":42,"name":"base","last_metric":{${names(count)}}}`;
    const metrics = (lastMetric: unknown) => ({ experiment: { name: "base", lastMetric } });
    expect(await read(of(10_000), LAST_METRIC)).toEqual(metrics([{ value: 7 }]));
    expect(await read(of(10_001), LAST_METRIC)).toEqual(metrics(null));
    expect(await read(of(200_000), LAST_METRIC)).toEqual(TOO_MANY_KEYS);
  });

  test.each([
    ["9.9 million letters", "x".repeat(9_900_000)],
    ["quotes", '\\"'.repeat(4_900_000)],
    ["backslashes", "\\\\".repeat(4_900_000)],
    ["NaN", "NaN ".repeat(2_400_000)],
  ])("with NaN beside a long text is read: %s", async (_, text) => {
    const value = declared(`"${text}"`).replace("{", '{"last_metric":{"name7":NaN,"name8":-Infinity},');
    expect(await read(value, LAST_METRIC)).toEqual({
      experiment: { name: "base", lastMetric: [{ value: null }] },
    });
  });
});

/** The processor's time that the parser takes for what is slow to parse, and may be in an answer. */
function referenceMs(): number {
  const text = declared(`[${list(290_000, (index) => `"\\n${index}"`)}]`);
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...rounds);
}

test("no answer takes much longer to read than the parser takes for one within the bounds", async () => {
  const answers: Readonly<Record<string, () => string>> = {
    "2.2 million NaN": () => declared(`[${list(2_200_000, () => "NaN")}]`),
    "1.9 million NaN": () => declared(`[${list(1_900_000, () => "NaN")}]`),
    "290,000 NaN": () => declared(`[${list(290_000, () => "NaN")}]`),
    "600,000 keys": () => `{"id":42,${names(600_000)}}`,
    "200,000 metrics": () => `{"id":42,"last_metric":{${names(200_000)}}}`,
    "29,000 metrics": () => `{"id":42,"last_metric":{${names(29_000)}}}`,
    "300,000 declarations": () => declared(`{${names(300_000)}}`),
    "800,000 keys of small objects": () =>
      declared(`[${list(8_000, (index) => `{${names(100, `${index}_`)}}`)}]`),
    "3 million empty lists": () => declared(`[${list(3_000_000, () => "[]")}]`),
    "a text of 9.9 MB beside NaN": () => `{"id":42,"name":NaN,"readme":"${"x".repeat(9_900_000)}"}`,
  };
  let text = "";
  const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
  const { post, condition, stop } = await startWatched(service.url);
  onTestFinished(stop);
  const taken: Record<string, number> = {};
  for (const [name, answer] of Object.entries(answers)) {
    text = answer();
    // The first rounds also compile the code.
    for (let round = 0; round < 3; round++) {
      await condition();
      await (await post({ query: LAST_METRIC }, "t0ken")).text();
      taken[name] = Math.min((await condition()).cpuMs, taken[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  const most = 3 * referenceMs();
  expect(Object.entries(taken).filter(([, ms]) => ms > most)).toEqual([]);
});
