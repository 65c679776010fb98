import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { startRecords, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { measureTicks } from "../support/ticks.ts";
import COMPARED from "./compared.json" with { type: "json" };

const run = (id: number, given: object) => ({ id, unique_name: `ada.mnist.${id}`, user: "ada", ...given });

const startComparing = () => startBefore({ ...COMPARED.records, "ada/mnist/experiments/9/": [] });

test("returns differences with one request per run", async () => {
  const { ask, service } = await startComparing();
  const answer = await ask(`{
    compareExperiments(ids: ["ada.mnist.1", "ada.mnist.2"]) {
      experiments { uniqueName }
      origin { name values differs }
      parameters { name values }
      metrics { name values }
    }
  }`);
  expect(answer).toEqual({ data: { compareExperiments: COMPARED.differences } });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
});

test("returns equal values on request, and null for missing values", async () => {
  const { ask } = await startComparing();
  const { data } = await ask(`{
    compareExperiments(ids: ["ada.mnist.2", "ada.mnist.1", "ada.mnist.2"], onlyDifferences: false) {
      parameters { name values differs }
      metrics { name differs }
    }
  }`);
  expect(data).toEqual({ compareExperiments: COMPARED.all });
});

test("reports missing runs, and distinguishes null, NaN and absent values", async () => {
  const { ask, service } = await startBefore(COMPARED.unlike.records);
  const ids = ["ada.mnist.7", "ada.mnist.1", "ada.mnist.experiments.8", "ada.mnist.2"];
  const answer = await ask(
    `query ($ids: [ID!]!) { compareExperiments(ids: $ids) {
      experiments { uniqueName } missing parameters { name values arePresent } metrics { name values arePresent }
    } }`,
    { ids },
  );
  expect(answer).toEqual({ data: { compareExperiments: COMPARED.unlike.reported } });
  expect(service.calls()).toEqual([1, 2, 7, 8].map((id) => `GET ada/mnist/experiments/${id}/`));
});

test("returns the runs in `origin` as references", async () => {
  const { ask } = await startBefore({
    "ada/mnist/experiments/1/": run(1, { experiment_group: "ada.mnist.5", original: "ada.mnist.5.41" }),
    "ada/mnist/experiments/2/": run(2, { build_job: "ada.mnist.builds.7", original: "not a name" }),
  });
  const answer = await ask(
    `{ compareExperiments(ids: ["ada.mnist.1", "ada.mnist.2"]) { origin { name values } } }`,
  );
  const origin = [
    { name: "experimentGroup", values: ["ada.mnist.groups.5", null] },
    { name: "original", values: ["ada.mnist.experiments.41", "not a name"] },
    { name: "buildJob", values: [null, "ada.mnist.builds.7"] },
  ];
  expect(answer).toEqual({ data: { compareExperiments: { origin } } });
});

test("treats zero and negative zero as equal, alone and in lists", async () => {
  const written = (id: number, zero: string): FakeResponse => ({
    text: `{"id":${id},"unique_name":"ada.mnist.${id}","declarations":{"a":${zero},"b":[${zero}]},"last_metric":{"c":${zero}}}`,
    headers: { "content-type": "application/json" },
  });
  const { ask } = await startBefore(({ path }) =>
    path.includes("/1/") ? written(1, "0.0") : written(2, "-0.0"),
  );
  const answer = await ask(`{ compareExperiments(ids: ["ada.mnist.1", "ada.mnist.2"]) {
    parameters { name values } metrics { name values }
  } }`);
  expect(answer).toEqual({ data: { compareExperiments: { parameters: [], metrics: [] } } });
});

test.each([
  [
    `["ada.mnist.1", "ada.mnist.experiments.1"]`,
    "BAD_USER_INPUT",
    /^ids: .* at least 2 different runs, got 1$/,
    {},
  ],
  [`["ada.mnist.1", "ada.mnist.9"]`, "UPSTREAM_BAD_RESPONSE", /./, { reference: "ada.mnist.experiments.9" }],
  [`["ada.mnist.1", "x"]`, "BAD_USER_INPUT", /^ids\[1\]: expected /, {}],
])("returns null with the reason for %s", async (ids, code, message, details) => {
  const { ask } = await startComparing();
  const { data, errors } = outcomeOf(await ask(`{ compareExperiments(ids: ${ids}) { metrics { name } } }`));
  expect(data).toEqual({ compareExperiments: null });
  expect(errors).toMatchObject([
    failure("compareExperiments", code, expect.stringMatching(message), details),
  ]);
});

const nothingInCommon = (index: number) =>
  Object.fromEntries(Array.from({ length: 500 }, (_, name) => [`p${index}_${name}`, name]));
const longList = () => ({ list: Array.from({ length: 2_000 }, (_, index) => [index, [index]]) });

test.each([
  ["many runs without common values", 100, nothingInCommon, true, { length: 50_000 }],
  ["lists of many runs", 50, longList, false, [{ differs: false }]],
] as const)("compares %s in time slices", async (_, count, declared, onlyDifferences, parameters) => {
  const rows = Array.from({ length: count }, (__, index) =>
    run(index + 1, { declarations: declared(index) }),
  );
  const service = await startRecords(
    Object.fromEntries(rows.map((row) => [`ada/mnist/experiments/${row.id}/`, row])),
  );
  const env = { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" };
  const { ask } = await startGateway({ upstream: service, env });
  const ids = rows.map(({ unique_name }) => unique_name);
  const query = `query ($ids: [ID!]!) {
    compareExperiments(ids: $ids, onlyDifferences: ${onlyDifferences}) { parameters { differs } }
  }`;
  // The second time, the responses are cached, so only the comparison is measured.
  expect(await ask(query, { ids })).toMatchObject({ data: { compareExperiments: { parameters } } });
  const { all, longest } = await measureTicks(() => ask(query, { ids }));
  // Without yielding, the longest tick would take almost all of the time.
  expect(longest / all).toBeLessThan(0.7);
});
