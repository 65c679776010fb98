import { describe, expect, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { answerTo, RECORDED_ROWS } from "../support/recorded-rows.ts";
import type { Row } from "../support/recorded-told.ts";
import { type Line, lineOf, readRecording, startReplay } from "../support/replay.ts";

/** What the gateway does not offer: saved searches, chart views, activity. */
const LEFT_OUT = /\/(?:searches|chartviews|activitylogs|historylogs)\b/;

describe.each([
  ["0.2.0-reads", "polyaxon-0.2"],
  ["0.2.0-writes", "document"],
  ["0.4.4-samples", "polyaxon-0.4"],
  ["0.4.4-beyond", "polyaxon-0.4"],
  ["0.4.4-further", "polyaxon-0.4"],
] as const)("what %s has recorded", (file, profile) => {
  const lines = readRecording(file).filter(({ path }) => !LEFT_OUT.test(path));
  const rows = Object.entries(RECORDED_ROWS[file] ?? {});
  const asked = rows.flatMap(([name, row]) => (typeof row === "string" ? [] : [[name, row] as const]));

  // Of the reads of 0.2.0 these are the lists.
  const whole = file === "0.2.0-reads" ? [] : [file];
  test.each(whole)("is asked for line by line, or has its reason: %s", () => {
    expect(rows.map(([name]) => name).toSorted()).toEqual(lines.map((line) => line.case).toSorted());
  });

  test.each(asked)("%s: is what the gateway sends and tells", async (name, row) => {
    const { given, recorded } = await answerTo(lines, name, row, profile);
    expect(given).toMatchObject(recorded);
  });
});

const samples = readRecording("0.4.4-samples");
const TOKEN = "b".repeat(64);

const rowsIn = (json: Row) => json["results"] as readonly Row[];

const GROUP = `group(id: "alice.mnist.1")`;
const BY_CREATION = "first: 3, order: { field: CREATED_AT, direction: ASC }";

/** A line that was not recorded, in the manner of one that was. */
const made = (path: string, like: Line, json: unknown = like.json): Line => ({
  ...like,
  path: `/api/v1/alice/mnist/${path}`,
  headers: { Authorization: `token ${TOKEN}` },
  json,
});

async function startSamples(lines: readonly Line[]) {
  const upstream = await startReplay(lines);
  const { ask } = await startGateway({ upstream, token: TOKEN, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return { ask, calls: () => upstream.calls().map((call) => decodeURIComponent(call)) };
}

test("a build that is missing from the list by numbers is looked up alone, and NOT_FOUND", async () => {
  const missing = lineOf(readRecording("0.2.0-reads"), "build detail not found");
  const { ask, calls } = await startSamples([
    lineOf(samples, "lists builds by ids, one of them missing"),
    made("builds/99/", missing),
  ]);
  const fields = [1, 2, 99]
    .map((id) => `b${id}: buildJob(id: "alice.mnist.builds.${id}") { rawStatus tags }`)
    .join(" ");
  expect(outcomeOf(await ask(`{ ${fields} }`))).toMatchObject({
    data: {
      b1: { rawStatus: "succeeded", tags: ["base"] },
      b2: { rawStatus: "failed", tags: null },
      b99: null,
    },
    errors: [{ at: "b99", code: "NOT_FOUND", upstream: { status: 404 } }],
  });
  expect(calls()).toEqual(["GET alice/mnist/builds/99/", "GET alice/mnist/builds?query=id:1|2|99&limit=100"]);
});

// Recorded with a limit, which the gateway does not set: it wants the metrics of the whole group.
test("a page of the metrics of a group that has a next one does not tell that an experiment has no more", async () => {
  const recorded = lineOf(samples, "metrics of a group");
  const results = rowsIn(recorded.json as Row);
  const pageOf = (rows: readonly Row[]) => ({ count: rows.length, next: null, results: rows });
  const own = [10, 11, 12].map((id) =>
    made(`experiments/${id}/metrics`, recorded, pageOf(results.filter((row) => row["experiment"] === id))),
  );
  const experiments = lineOf(samples, "experiments of a group");
  const document = `{ ${GROUP} { experiments(${BY_CREATION}) { nodes { metricSeries(names: ["loss"]) { values } } } } }`;
  const nodes = [[[2.5, 1.25]], [[2.5, 1.25]], []].map((series) => ({
    metricSeries: series.map((values) => ({ values })),
  }));
  const list = "GET alice/mnist/experiments?group=1&sort=created_at,-updated_at&limit=3";
  const metrics = "GET alice/mnist/groups/1/metrics";

  const whole = await startSamples([experiments, made("groups/1/metrics", recorded, pageOf(results))]);
  expect(await whole.ask(document)).toEqual({ data: { group: { experiments: { nodes } } } });
  expect(whole.calls()).toEqual([list, metrics]);

  const part = await startSamples([experiments, made("groups/1/metrics", recorded), ...own]);
  expect(await part.ask(document)).toEqual({ data: { group: { experiments: { nodes } } } });
  const each = [10, 11, 12].map((id) => `GET alice/mnist/experiments/${id}/metrics`);
  expect(part.calls()).toEqual([...each, list, metrics]);
});

test("the log of one job, the metrics of a group and the filter on ids are not asked of release 0.2.0", async () => {
  const upstream = await startReplay(readRecording("0.2.0-reads"));
  const { ask } = await startGateway({
    upstream,
    token: "b".repeat(40),
    env: { UPSTREAM_PROFILE: "polyaxon-0.2" },
  });
  const { data, errors } = await ask(`{
    a: experiment(id: "alice.mnist.1") { name }
    b: experiment(id: "alice.mnist.2") { name }
    experimentJob(id: "alice.mnist.1.1.master") { role logs { text } }
  }`);
  expect(data).toEqual({
    a: { name: "baseline" },
    b: { name: null },
    experimentJob: { role: "master", logs: null },
  });
  expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["CAPABILITY_UNAVAILABLE"]);
  expect(upstream.calls()).toEqual([
    "GET alice/mnist/experiments/1/",
    "GET alice/mnist/experiments/1/jobs/1/",
    "GET alice/mnist/experiments/2/",
  ]);
});
