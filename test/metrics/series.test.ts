import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startPaging } from "../support/child-lists.ts";
import { pageOf, startFake, startRecords } from "../support/fake.ts";
import { type Answer, RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import { measureTicks } from "../support/ticks.ts";

const METRICS = "ada/mnist/experiments/42/metrics";

interface Series {
  readonly name: string;
  readonly totalPoints: number;
  readonly steps: readonly number[];
  readonly times: readonly (string | null)[];
  readonly values: readonly (number | null)[];
}

/** Starts a gateway. Returns a function that reads a series with the given `names` and `maxPoints`. */
async function openSeries(service: { readonly url: string }) {
  const { ask } = await startGateway({ upstream: service });
  return async (wanted: { names?: readonly string[]; maxPoints?: number } = {}) => {
    const { data, errors } = (await ask(
      `query ($names: [String!], $maxPoints: Int) {
        experiment(id: "ada.mnist.42") {
          metricSeries(names: $names, maxPoints: $maxPoints) { name totalPoints steps times values }
        }
      }`,
      wanted,
    )) as Answer<{ experiment: { metricSeries: readonly Series[] | null } }>;
    expect(errors).toBeUndefined();
    return data.experiment.metricSeries;
  };
}

const time = (second: number) => new Date(second * 1_000).toISOString();

const recording = (second: number, values: unknown) => ({ id: second + 1, created_at: time(second), values });

describe("metricSeries", () => {
  test("returns one column per metric over all pages, ordered by name", async () => {
    const rows = Array.from({ length: 45 }, (_, second) =>
      recording(second, { loss: second, ...(second % 2 === 0 ? { accuracy: 0 - second } : {}) }),
    );
    const service = await startPaging(rows);
    const series = await openSeries(service);
    const all = rows.map((_, second) => second);
    const even = all.filter((second) => second % 2 === 0);
    expect(await series()).toEqual([
      {
        name: "accuracy",
        totalPoints: 23,
        steps: even.map((_, step) => step),
        times: even.map(time),
        values: even.map((second) => 0 - second),
      },
      { name: "loss", totalPoints: 45, steps: all, times: all.map(time), values: all },
    ]);
    expect(service.calls()).toEqual([
      `GET ${METRICS}`,
      `GET ${METRICS}?limit=20&offset=20`,
      `GET ${METRICS}?limit=20&offset=40`,
    ]);
  });

  test("includes values that are not finite numbers as null", async () => {
    const text = `{"results": [
      {"id": 1, "created_at": "t1", "values": {"loss": 1.5}},
      {"id": 2, "created_at": "t2", "values": {"loss": NaN}},
      {"id": 3, "created_at": "t3", "values": {"loss": "high"}},
      {"id": 4, "created_at": "t4", "values": {"loss": {"a": 1}}},
      {"id": 5, "created_at": "t5", "values": {"loss": -Infinity}},
      {"id": 6, "created_at": "t6", "values": {"loss": 1e999}},
      {"id": 7, "created_at": null, "values": {"loss": 1e308}}
    ]}`;
    const series = await openSeries(await startFake(() => ({ text })));
    expect(await series()).toEqual([
      {
        name: "loss",
        totalPoints: 7,
        steps: [0, 1, 2, 3, 4, 5, 6],
        times: ["t1", "t2", "t3", "t4", "t5", "t6", null],
        values: [1.5, null, null, null, null, null, 1e308],
      },
    ]);
  });

  test("returns metrics of any name", async () => {
    const names = ["", "__proto__", "a b", "constructor", "hasOwnProperty", "toString", "ü/😀"];
    const values = `{${names.map((name, index) => `${JSON.stringify(name)}: ${index}`).join(", ")}}`;
    // The wrong type of `created_at` makes the reader repair the page, which must keep these names.
    const service = await startFake(() => ({
      text: `{"results": [{"id": 1, "created_at": 7, "values": ${values}}]}`,
    }));
    const series = await openSeries(service);
    expect((await series())?.map(({ name, values: column }) => [name, column])).toEqual(
      names.map((name, index) => [name, [index]]),
    );
    expect((await series({ names: ["__proto__", "constructor"] }))?.map(({ name }) => name)).toEqual([
      "__proto__",
      "constructor",
    ]);
  });

  test("refuses names that are too long in total", async () => {
    const gateway = await startBefore(() => ({ json: { results: [] } }));
    const names = Array.from({ length: 500 }, (_, index) => `m${index}`);
    const query = `query ($names: [String!]) { experiment(id: "ada.mnist.42") { metricSeries(names: $names) { name } } }`;
    const { errors } = await gateway.ask(query, { names });
    expect(errors?.map(({ message }) => message)).toEqual([
      "names: expected at most 2000 characters in different names, with one between them, got 2389",
    ]);
    expect((await gateway.ask(query, { names: Array(2_000).fill("loss") })).errors).toBeUndefined();
  });

  test("is empty for records without values", async () => {
    const results = [{ id: 1 }, { id: 2, values: null }, { id: 3, values: [1] }];
    const series = await openSeries(await startRecords({ [METRICS]: { results } }));
    expect(await series()).toEqual([]);
  });

  test("when downsampled, keeps a peak at its position", async () => {
    const rows = Array.from({ length: 1_000 }, (_, second) =>
      recording(second, { loss: second === 617 ? 1_000 : second % 2 }),
    );
    const series = await openSeries(await startPaging(rows, 1_000));
    const [loss] = (await series({ maxPoints: 20 })) ?? [];
    expect(loss?.totalPoints).toBe(1_000);
    expect(loss?.values).toHaveLength(20);
    expect(loss?.times[loss.values.indexOf(1_000)]).toBe(time(617));
  });

  test("has each point once although all records have the same time", async () => {
    const rows = Array.from({ length: 45 }, (_, id) => ({ ...recording(0, { loss: id }), id: id + 1 }));
    const { ask } = await startBefore((seen) => pageOf(rows, seen), RELEASE_04);
    const answer = await ask(
      `{ experiment(id: "ada.mnist.experiments.42") { metricSeries { totalPoints values } } }`,
    );
    expect(answer).toEqual({
      data: {
        experiment: {
          metricSeries: [{ totalPoints: 45, values: rows.map(({ values }) => Object(values).loss) }],
        },
      },
    });
  });

  const numbers = (count: number) => Array.from({ length: count }, (_, second) => second);
  const gap = (count: number) => numbers(count).map(() => "NaN");
  test.each<[string, readonly unknown[], number, readonly number[]]>([
    ["at its end", [...numbers(600), ...gap(600)], 500, [600, 1_199]],
    [
      "in its middle, even of one point",
      [...numbers(9), ...gap(1), ...numbers(50), ...gap(9), 1],
      9,
      [9, 60, 68],
    ],
    ["in a series that needs no downsampling", [0, ...gap(3), 1], 5, [1, 2, 3]],
    ["that is the whole series", gap(700), 2, [0, 699]],
    [
      "that is longer than many other gaps",
      [...numbers(500).flatMap((each) => [each, "NaN"]), ...gap(9)],
      6,
      [999, 1_008],
    ],
    [
      "that is the last and longest of several",
      [1, 2, 3, 4, 5].flatMap((each) => [0, ...gap(each)]),
      6,
      [15, 19],
    ],
  ])("when downsampled, keeps the first and last point of a gap %s", async (_, values, maxPoints, ends) => {
    const rows = values.map((loss, second) => recording(second, { loss }));
    const series = await openSeries(await startPaging(rows, 2_000));
    const [loss] = (await series({ maxPoints })) ?? [];
    expect([loss?.totalPoints, loss?.values.length]).toEqual([values.length, maxPoints]);
    expect(loss?.steps.filter((__, index) => loss.values[index] === null)).toEqual(ends);
    expect(loss?.steps).toEqual(loss?.steps.toSorted((a, b) => a - b));
  });

  test("when downsampled, returns at most maxPoints points, including first and last", async () => {
    let results: unknown[] = [];
    const series = await openSeries(await startFake(() => ({ json: { results } })));
    const value = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom(1.7e308, -1.7e308, 5e-324),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 2, max: 20 }),
        async (values, maxPoints) => {
          results = values.map((loss, second) => recording(second, { loss }));
          const [loss] = (await series({ maxPoints })) ?? [];
          if (!loss) throw new Error("no series");
          expect(loss.totalPoints).toBe(values.length);
          expect(loss.times).toHaveLength(Math.min(maxPoints, values.length));
          const seconds = loss.times.map((at) => Date.parse(at ?? "") / 1_000);
          // A step is the index of its record, even if records were left out.
          expect(loss.steps).toEqual(seconds);
          expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
          expect(new Set(seconds).size).toBe(seconds.length);
          expect([seconds[0], seconds.at(-1)]).toEqual([0, values.length - 1]);
          expect(loss.values).toEqual(seconds.map((second) => (values[second] ?? 0) + 0));
        },
      ),
      { numRuns: cases(25, 100) },
    );
  });
});

test("computes many series of a long list in time slices", async () => {
  const results = Array.from({ length: 90_000 }, (_, second) => recording(second, { loss: second % 7 }));
  const { ask, service } = await startBefore(
    { [METRICS]: { results } },
    { MAX_JSON_BYTES: "100000000", CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" },
  );
  const fields = Array.from(
    { length: 150 },
    (_, index) =>
      `s${index}: metricSeries(maxPoints: 3, names: ["loss", "none ${index}"]) { totalPoints times values }`,
  );
  const asked = () =>
    ask<{ experiment: object }, never>(`{ experiment(id: "ada.mnist.42") { ${fields.join(" ")} } }`);
  // The second time, the document and the response are cached, so only computing the series is measured.
  const { data } = await asked();
  // Without yielding, the longest tick would take almost all of the time in every round. Another process may delay a tick of one round.
  const shares: number[] = [];
  while (shares.length < 3 && Math.min(...shares) >= 0.3) {
    let again: unknown;
    const { all, longest } = await measureTicks(async () => {
      again = (await asked()).data;
    });
    expect(again).toEqual(data);
    shares.push(longest / all);
  }
  const [series, ...others] = Object.values(data.experiment) as [readonly Series[], ...unknown[]];
  expect(series).toEqual([
    { totalPoints: 90_000, times: expect.arrayContaining([time(0), time(89_999)]), values: [0, 6, 0] },
  ]);
  for (const other of others) expect(other).toEqual(series);
  expect(service.calls()).toEqual([`GET ${METRICS}`]);
  expect(Math.min(...shares)).toBeLessThan(0.3);
});

test("metrics and latestMetrics return any name with raw and numeric values", async () => {
  const { ask } = await startBefore(({ path }) => ({
    text: path.endsWith("metrics")
      ? `{"count": 1, "results": [{"id": 1, "values": {"__proto__": 1, "constructor": "high"}}]}`
      : `{"id": 42, "name": 7, "last_metric": {"__proto__": {"a": 1}, "constructor": 2}}`,
  }));
  const answer = await ask(`{ experiment(id: "ada.mnist.42") {
    latestMetrics { name value raw }
    proto: latestMetric(name: "__proto__") { value }
    constructor: latestMetric(name: "constructor") { value }
    absent: latestMetric(name: "toString") { value }
    metrics { nodes { values { name value raw } some: values(names: ["__proto__", "toString"]) { value } } }
  } }`);
  const values = (proto: object, constructor: object) => [
    { name: "__proto__", ...proto },
    { name: "constructor", ...constructor },
  ];
  const recorded = values({ value: 1, raw: 1 }, { value: null, raw: "high" });
  expect(answer).toEqual({
    data: {
      experiment: {
        latestMetrics: values({ value: null, raw: { a: 1 } }, { value: 2, raw: 2 }),
        proto: { value: null },
        constructor: { value: 2 },
        absent: null,
        metrics: { nodes: [{ values: recorded, some: [{ value: 1 }] }] },
      },
    },
  });
});
