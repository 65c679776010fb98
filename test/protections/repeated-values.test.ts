import { expect, onTestFinished, test, vi } from "vitest";
import { pageOf, type Seen, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { experimentIn, upTo } from "../support/one-read.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

/* A long value is processed at most once, however many fields and rows contain it. */

const row = (id: number, given: object = {}) => ({ id, unique_name: `ada.mnist.${id}`, ...given });

/** Starts a gateway in front of a service with these experiments, and the metric records of all of them. */
async function start(rows: readonly { readonly id: number }[], metrics: readonly object[] = []) {
  const answer = (seen: Seen) => {
    const id = experimentIn(seen.path);
    if (seen.path.includes("/metrics")) return pageOf(metrics, seen);
    return id ? { json: rows.find((each) => each.id === id) } : pageOf(rows, seen);
  };
  const service = await startFake(answer);
  const env = { ...RELEASE_04, CACHE_TTL_MS: "3600000", CACHE_BYTES: "100000000" };
  return { service, ...(await startGateway({ upstream: service, env })) };
}

/** The lengths of the strings above 1,000 characters on which a method is called from now on. */
function longOnesOf(method: "replaceAll" | "split" | "toUpperCase"): () => number[] {
  const called = vi.spyOn(String.prototype, method);
  onTestFinished(() => called.mockRestore());
  return () =>
    called.mock.contexts.map((text) => `${text as string}`.length).filter((length) => length > 1_000);
}

const times = (count: number, field: string) =>
  upTo(count)
    .map((index) => `a${index}: ${field}`)
    .join(" ");

test("a nested metric is converted once for all fields that show it", async () => {
  const long = "9007199254740993";
  const metric = `[${Array(1_000).fill(long).join()}]`;
  const record = `{"id": 1, "last_metric": {"m": ${metric}}}`;
  const service = await startFake(() => ({ text: record, headers: { "content-type": "application/json" } }));
  const { ask } = await startGateway({ upstream: service, env: { ...RELEASE_04, CACHE_TTL_MS: "3600000" } });
  const shown = [{ raw: Array(1_000).fill(Number(long)) }];
  const read = async (count: number) => {
    const fields = times(count, "latestMetrics { raw }");
    expect(await ask(`{ experiment(id: "ada.mnist.1") { ${fields} } }`)).toEqual({
      data: { experiment: Object.fromEntries(upTo(count).map((index) => [`a${index}`, shown])) },
    });
  };
  await read(1);
  const looks = stopwatchRuns();
  await read(1);
  const once = looks();
  await read(20);
  expect(looks() - once).toBeLessThan(2 * once);
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments/1/"]);
});

test("looks up duplicate names once", async () => {
  const run = row(1, { last_metric: { b: 1, a: 2 }, declarations: { y: 3, x: 4 } });
  const { ask, service } = await start([run], [{ id: 7, values: { b: 5, a: 6 } }]);
  const answer = await ask(`{ experiment(id: "ada.mnist.1") {
    latestMetrics(names: ["b", "a", "b", "none", "none"]) { name value }
    parameters(names: ["y", "y", "x"]) { name value }
    metrics { nodes { values(names: ["a", "a"]) { name value } } }
  } }`);
  const named = (name: string, value: number) => ({ name, value });
  expect(answer).toEqual({
    data: {
      experiment: {
        latestMetrics: [named("a", 2), named("b", 1)],
        parameters: [named("x", 4), named("y", 3)],
        metrics: { nodes: [{ values: [named("a", 6)] }] },
      },
    },
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/1/metrics"]);
});

test("a cloning strategy above 100 characters is OTHER without conversion", async () => {
  const { ask } = await start([row(1, { cloning_strategy: "ΐ".repeat(2_000) })]);
  const spelled = longOnesOf("toUpperCase");
  expect(await ask(`{ experiment(id: "ada.mnist.1") { cloningStrategy } }`)).toEqual({
    data: { experiment: { cloningStrategy: "OTHER" } },
  });
  expect(spelled()).toEqual([]);
});

test("does not split references above 1,000 characters for clones or metric lists", async () => {
  const long = ".".repeat(2_000);
  const rows = [
    row(1, { original: null }),
    row(2, { original: "ada.mnist.1" }),
    row(3, { original: long, experiment_group: long }),
  ];
  const { ask, service } = await start(rows, [{ id: 7, values: {} }]);
  const split = longOnesOf("split");
  const answer = await ask(`{
    experiment(id: "ada.mnist.1") { clones { nodes { internalId } } }
    project(id: "ada.mnist") { experiments { nodes { metrics { nodes { internalId } } } } }
  }`);
  const metrics = { metrics: { nodes: [{ internalId: "7" }] } };
  expect(answer).toEqual({
    data: {
      experiment: { clones: { nodes: [{ internalId: "2" }] } },
      project: { experiments: { nodes: [metrics, metrics, metrics] } },
    },
  });
  expect(split()).toEqual([]);
  const list = "GET ada/mnist/experiments";
  expect(service.calls()).toEqual([
    list,
    ...upTo(3).map((id) => `${list}/${id}/metrics`),
    `${list}?limit=500`,
  ]);
});

test("can yield after each nested value by which runs are grouped", async () => {
  const names = ["a", "b", "c", "d"];
  const runs = (length: number) =>
    upTo(30).map((id) =>
      row(id, { declarations: Object.fromEntries(names.map((name) => [name, ["x".repeat(length)]])) }),
    );
  const read = async (length: number) => {
    const { ask } = await start(runs(length));
    const by = names.map((name) => `{ parameter: "${name}" }`);
    const query = `{ project(id: "ada.mnist") { experiments { summary { breakdown(by: [${by.join(", ")}], metrics: []) { count } } } } }`;
    expect(await ask(query)).toEqual({
      data: { project: { experiments: { summary: { breakdown: [{ count: 30 }] } } } },
    });
    const before = looks();
    await ask(query);
    return looks() - before;
  };
  const looks = stopwatchRuns();
  const short = await read(10);
  // The clock is read after each of the four values of a run.
  expect((await read(20_000)) - short).toBeGreaterThan(3 * 30);
});

test("formats a run's cells once for all points of a metrics table", async () => {
  const cell = "a;".repeat(50_000);
  const written = async (points: number) => {
    const records = upTo(points).map((id) => ({ id, values: { loss: id } }));
    const { url } = await start([row(1, { description: cell })], records);
    const headers = { authorization: "token t0ken" };
    const path = "export/ada.mnist/metrics.csv?columns=description,value";
    const response = await fetch(`${url}/${path}`, { headers });
    const lines = upTo(points).map((value) => `${cell},${value}\r\n`);
    expect(await response.text()).toBe(`description,value\r\n${lines.join("")}`);
  };
  const searched = longOnesOf("replaceAll");
  await written(1);
  const once = searched();
  expect(once.length).toBeGreaterThan(1);
  await written(20);
  expect(searched()).toEqual([...once, ...once]);
});
