import { describe, expect, onTestFinished, test } from "vitest";
import { runs } from "../../src/rest/api/kinds.ts";
import { BUILT } from "../support/built.ts";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { askAt, type Answer, startBefore } from "../support/gateway.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { mainIn } from "../support/main-process.ts";
import { NO_DEADLINES } from "../support/long-timeout.ts";
import { jsonText } from "../support/one-read.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

/** Starts a gateway in front of a service that sends one response to every request. */
const startWith = (text: string) => startBefore(() => jsonText(text));

const times = (count: number, item: string) => Array<string>(count).fill(item).join(",");
const namesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `"n${index}":${index}`).join(",");

/** The paths that were logged as values of another type. */
const placesOf = (logged: string): string[] =>
  logged
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { place?: string; msg: string })
    .flatMap(({ place }) => (place === undefined ? [] : [place]));

const codesOf = ({ errors = [] }: Answer<unknown>) =>
  errors.map(({ message, extensions }) => [extensions["code"], message]);

const unusable = (place: string) => [
  "UPSTREAM_BAD_RESPONSE",
  `The service's answer cannot be used: ${place} is missing or not of the documented type.`,
];

describe("values of a wrong type", () => {
  test("null a list of strings, and count as one fault", async () => {
    const config = `{"version": "x", "build": {"image": "python", "build_steps": [${times(2_000, "1")}]}}`;
    const { ask, logged } = await startWith(
      `{"id": 42, "name": "base", "tags": ["a", ${times(2_000, "1")}], "config": ${config}}`,
    );
    const query = `{ experiment(id: "ada.mnist.42") { name tags config { version build { image buildSteps } } } }`;
    const readable = { version: null, build: { image: "python", buildSteps: null } };
    expect(await ask(query)).toEqual({
      data: { experiment: { name: "base", tags: null, config: readable } },
    });
    expect(placesOf(logged())).toEqual(["tags"]);
  });

  test("make a list unusable if there are more than a thousand", async () => {
    const page = (rows: number) => `{"results": [${times(rows, '{"id": 1, "status": 7, "message": 7}')}]}`;
    let text = page(500);
    const { ask } = await startBefore(() => jsonText(text), { MAX_PAGE_SIZE: "500" });
    const query = `{ experiment(id: "ada.mnist.42") { statuses { nodes { rawStatus } } } }`;
    expect(await ask(query)).toEqual({
      data: { experiment: { statuses: { nodes: Array.from({ length: 500 }, () => ({ rawStatus: null })) } } },
    });
    text = page(501);
    expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual([unusable("results.0.message")]);
  });

  test("do not hide an unreadable row, which makes the list unusable", async () => {
    const { ask } = await startWith(`{"results": [{"id": 1, "status": 7}, {"id": "2"}]}`);
    const query = `{ experiment(id: "ada.mnist.42") { statuses { nodes { rawStatus } } } }`;
    expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual([unusable("results.1.id")]);
  });
});

test("lists of over 100,000 items fail after retries with smaller pages", async () => {
  const [rows, files] = [times(100_001, "{}"), times(100_001, '["a"]')];
  const { ask, service } = await startBefore(
    ({ path }) => jsonText(path.includes("outputs") ? `{"files": [${files}]}` : `{"results": [${rows}]}`),
    { UPSTREAM_PROFILE: "polyaxon-0.4" },
  );
  const query = `{ experiment(id: "ada.mnist.42") {
    outputFiles { files { name } } statuses { totalCount } metricSeries { name }
  } }`;
  const answer = (await ask(query)) as Answer<unknown>;
  expect(answer.data).toEqual({ experiment: { outputFiles: null, statuses: null, metricSeries: null } });
  const tooLong = "The service's answer is longer than 100000 items.";
  expect(answer.errors?.map(({ message }) => message)).toEqual([tooLong, tooLong, tooLong]);
  const metrics = ["", ...["10000", "156", "2500", "40000", "625"].map((limit) => `?limit=${limit}`)];
  const statuses = ["", ...["1", "125", "31", "500", "7"].map((limit) => `?limit=${limit}`)];
  expect(service.calls()).toEqual(
    [
      ...metrics.map((page) => `GET ada/mnist/experiments/42/metrics${page}`),
      "GET ada/mnist/experiments/42/outputs/tree",
      ...statuses.map((page) => `GET ada/mnist/experiments/42/statuses${page}`),
    ].toSorted(),
  );
});

test("fails for over 10,000 metrics, and returns null for other long objects", async () => {
  let names = 10_000;
  const { ask } = await startBefore(({ path }) =>
    jsonText(
      path.includes("groups")
        ? `{"id": 5, "name": "search", "hptuning": {"concurrency": 2, "matrix": {${namesOf(names)}}}}`
        : `{"id": 42, "name": "base", "last_metric": {${namesOf(names)}}}`,
    ),
  );
  const query = `{
    experiment(id: "ada.mnist.42") { name latestMetrics(names: ["n9999"]) { value } latestMetric(name: "n9999") { value } }
    group(id: "ada.mnist.5") { name hptuning { concurrency matrix { name } } }
  }`;
  const within = (await ask(query)) as Answer<{ group: { hptuning: { matrix: unknown[] } } }>;
  expect(within.data).toMatchObject({
    experiment: { name: "base", latestMetrics: [{ value: 9999 }], latestMetric: { value: 9999 } },
  });
  expect(within.data.group.hptuning.matrix).toHaveLength(10_000);
  names = 10_001;
  const beyond = await ask(query);
  expect(beyond.data).toEqual({
    experiment: { name: "base", latestMetrics: null, latestMetric: null },
    group: { name: "search", hptuning: { concurrency: 2, matrix: null } },
  });
  const message =
    "last_metric: expected an object of at most 10000 names and values, got something else from the service.";
  expect(errorsOf(beyond)).toEqual(
    ["latestMetrics", "latestMetric"].map((field) =>
      failure(`experiment.${field}`, "UPSTREAM_BAD_RESPONSE", message),
    ),
  );
});

test("an error body that repeats long field names is not quoted", async () => {
  // The error message, written out, would exceed the memory of the gateway.
  const deep = `{"${"k".repeat(160)}":`.repeat(190);
  const text = `${deep}[${times(9_000, '""')}]${"}".repeat(190)}`;
  const service = await startFake(() => ({ ...jsonText(text), status: 400 }));
  const program = ["--max-old-space-size=128", mainIn(BUILT)];
  const { url, kill } = await startGatewayProcess(service.url, NO_DEADLINES, program);
  onTestFinished(kill);
  const query = `{ experiment(id: "ada.mnist.1") { status } }`;
  expect(codesOf(await askAt(`${url}/graphql`, "t0ken", query))).toEqual([
    ["BAD_USER_INPUT", "The service refused the input."],
  ]);
});

test("a long page is decoded in time slices and stays complete", () => {
  stopwatchRuns();
  const body = {
    count: 1_001,
    results: Array.from({ length: 1_001 }, (_, id) => ({ id, name: id % 7 ? "run" : 7 })),
  };
  const { answer } = runs.experiment.optional.list;
  const steps = answer.form === "json" ? answer.parseTask(body) : undefined;
  let pauses = 0;
  let step = steps?.next();
  for (; step && !step.done; step = steps?.next()) pauses++;
  expect(step?.value?.answer.results).toHaveLength(1_001);
  expect(step?.value?.mismatches).toHaveLength(143);
  expect(pauses).toBe(251);
});
