import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import STRATEGIES from "./cloning-strategies.json" with { type: "json" };
import STRANGE from "./strange-values.json" with { type: "json" };
import { post } from "../support/raw-requests.ts";

test("a value of a wrong type is null, and is logged once", async () => {
  const { ask, logged } = await startBefore(STRANGE.records, RELEASE_04);
  const document = `{ experiment(id: "ada.mnist.1") {
      jobCount tags startedAt config { version run { cmd } raw }
      framework readme cloningStrategy runEnvironment dataReferences { name version }
      resources { cpuCores { request } memoryMiB { request limit } gpus { limit } raw }
      codeReference { branch commit isDirty url }
      statuses { nodes { message traceback } }
      project { tags isPublic jobCount buildJobCount }
    } }`;
  const warned = () =>
    logged()
      .split("\n")
      .filter((line) => line.includes('"level":40'));
  await ask(document);
  const once = warned();
  for (const place of ["data_refs", "num_jobs", "started_at", "tags"])
    expect(once).toContainEqual(expect.stringContaining(`"place":"${place}"`));
  expect(await ask(document)).toEqual({ data: { experiment: STRANGE.reported } });
  expect(warned()).toEqual(once);
});

test("search-space values of an unknown form are returned as received", async () => {
  const matrix = { a: { values: [{ of: 1 }] }, b: { linspace: "0:1:5" }, c: "0.1" };
  const { ask } = await startBefore({ "ada/mnist/groups/5/": { id: 5, hptuning: { matrix } } });
  const definitions = "matrix { definition { ... on MatrixOther { raw } } }";
  expect(await ask(`{ group(id: "ada.mnist.5") { hptuning { ${definitions} } } }`)).toEqual({
    data: { group: { hptuning: { matrix: Object.values(matrix).map((raw) => ({ definition: { raw } })) } } },
  });
});

test("long integers keep their digits in parameters, but not in metrics", async () => {
  const rowOf = (id: number, seed: string) =>
    `{"id": ${id}, "unique_name": "ada.mnist.${id}", "declarations": {"seed": ${seed}, "all": [1, ${seed}], "small": -9007199254740991},
      "last_metric": {"steps": 12345678901234567890, "loss": 100000000000000000000, "eval": {"ids": [9007199254740993, "x"]}, "lr": 0.12345678901234566}}`;
  const rows = [rowOf(1, "9007199254740992"), rowOf(2, "9007199254740993")];
  const service = await startFake(() => ({
    text: `{"count": 2, "results": [${rows.join()}]}`,
    headers: { "content-type": "application/json" },
  }));
  const { url } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const headers = { authorization: "token t0ken" };
  const find = async (declared: string, fields: string) => {
    const query = `{ project(id: "ada.mnist") { experiments(filter: { parameters: [{ name: ${declared} }] }) { nodes { ${fields} } } } }`;
    return /\[.*\]/s.exec(await (await post(`${url}/graphql`, { query })).text())?.[0];
  };
  // Node.js 20 can represent them only as strings.
  const reported = (digits: string) => ("rawJSON" in JSON ? digits : `"${digits}"`);
  const seed = reported("9007199254740993");
  expect(
    await find(
      `"seed", values: ["9007199254740993"]`,
      "parameters { name value } latestMetrics { value raw }",
    ),
  ).toBe(
    `[{"parameters":[{"name":"all","value":[1,${seed}]},{"name":"seed","value":${seed}},{"name":"small","value":-9007199254740991}],` +
      `"latestMetrics":[{"value":null,"raw":{"ids":[9007199254740992,"x"]}},{"value":100000000000000000000,"raw":100000000000000000000},` +
      `{"value":0.12345678901234566,"raw":0.12345678901234566},{"value":12345678901234567000,"raw":12345678901234567000}]}]`,
  );
  const second = `[{"uniqueName":"ada.mnist.2"}]`;
  expect(await find(`"all", values: ["[1, 9007199254740993]"]`, "uniqueName")).toBe(second);
  expect(await find(`"seed", values: ["9007199254740993"], atLeast: 9e15`, "uniqueName")).toBe(second);
  const columns = "parameter.seed,parameter.all,metric.steps,metric.loss";
  const exported = async (format: string) => {
    const path = `${globalId("Project:ada/mnist")}/runs.${format}?columns=${columns}`;
    return (await (await fetch(`${url}/export/${path}`, { headers })).text()).trimEnd().split(/\r?\n/).at(-1);
  };
  const list = `"[1,${seed.replaceAll('"', '""')}]"`;
  expect(await exported("csv")).toBe(`9007199254740993,${list},12345678901234567000,100000000000000000000`);
  expect(await exported("ndjson")).toBe(
    `{"parameter.seed":${seed},"parameter.all":[1,${seed}],"metric.steps":12345678901234567000,"metric.loss":100000000000000000000}`,
  );
});

test.each(STRATEGIES)("the cloning strategy %j is %s", async (raw, strategy) => {
  const { ask } = await startBefore({ "ada/mnist/jobs/1/": { id: 1, cloning_strategy: raw } });
  expect(await ask(`{ job(id: "ada.mnist.jobs.1") { cloningStrategy } }`)).toEqual({
    data: { job: { cloningStrategy: strategy } },
  });
});

const TIME = "2026-03-01T12:00:00+00:00";

test.each([
  ["fancy", { started_at: TIME }, "ACTIVE", false],
  ["fancy", { started_at: TIME, finished_at: TIME }, "UNKNOWN", true],
  [null, {}, "UNKNOWN", false],
  ["failed", { started_at: TIME }, "FAILED", true],
])("a run with status %j and times %j is %s", async (status, times, phase, isFinished) => {
  const { ask } = await startBefore({ "ada/mnist/jobs/1/": { id: 1, last_status: status, ...times } });
  expect(await ask(`{ job(id: "ada.mnist.jobs.1") { phase isFinished } }`)).toEqual({
    data: { job: { phase, isFinished } },
  });
});
