import { expect, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { keysOf } from "../support/beyond-rows.ts";
import { ITEMS, type Row } from "../support/recorded-items.ts";
import { answerTo, type Asked } from "../support/recorded-rows.ts";
import { type Line, lineOf, readRecording, startReplay } from "../support/replay.ts";

const samples = readRecording("0.4.4-samples");
const TOKEN = "b".repeat(64);

const rowsIn = (json: Row) => json["results"] as readonly Row[];

/** Records of a project that are looked up by their names, which is one request. */
const byIds = (type: string, item: "experiments" | "jobs" | "groups", ids: readonly number[]): Asked => ({
  document: `{ thing: entities(ids: ${JSON.stringify(ids.map((id) => `alice.mnist.${item}.${id}`))}) {
    ... on ${type} { ${ITEMS[item].fields} }
  } }`,
  told: (json) => ids.map((id) => ITEMS[item].node(rowsIn(json).find((row) => row["id"] === id) ?? {})),
});

/** A list of experiments, as the service gives it. */
const experimentsIn = (of: string, args: string): Asked => ({
  document: `{ thing: ${of} { list: experiments(${args}) {
    nodes { ${ITEMS.experiments.fields} } totalCount pageInfo { hasNextPage }
  } } }`,
  told: (json) => ({
    list: {
      nodes: rowsIn(json).map((row) => ITEMS.experiments.node(row)),
      totalCount: json["count"],
      pageInfo: { hasNextPage: json["next"] !== null },
    },
  }),
});

const GROUP = `group(id: "alice.mnist.1")`;
const PROJECT = `project(id: "alice.mnist")`;
const BY_CREATION = "first: 3, order: { field: CREATED_AT, direction: ASC }";

const NODE = { name: "name", sequence: "sequence", memory: "memory", gpuCount: "n_gpus" };
const EXPERIMENT = { isClone: "is_clone", jobCount: "num_jobs", resources: "resources" };
const DONE = {
  rawStatus: "last_status",
  startedAt: "started_at",
  content: "content",
  currentIteration: "current_iteration",
};

const ROWS: Readonly<Record<string, Asked>> = {
  "lists experiments by ids": byIds("Experiment", "experiments", [1, 2, 3, 10]),
  "lists jobs by ids": byIds("Job", "jobs", [1, 5]),
  "lists groups by ids": byIds("Group", "groups", [1, 2]),
  "experiments of a group": experimentsIn(GROUP, BY_CREATION),
  "experiments of a group, second page": experimentsIn(GROUP, `${BY_CREATION}, offset: 3`),
  "experiments of a build": experimentsIn(PROJECT, `first: 2, query: "build:1"`),
  "a filter that is refused": experimentsIn(PROJECT, `query: "nonsense:1"`),
  "log of a job of an experiment": {
    document: `{ thing: experimentJob(id: "${globalId("ExperimentJob:alice/mnist/1/1")}") { logs(tailLines: 2) { lines hasMore } } }`,
    told: () => ({
      logs: {
        lines: lineOf(samples, "log of a job of an experiment").text?.trimEnd().split("\n").slice(-2),
        hasMore: false,
      },
    }),
  },
  "projects of an owner": {
    document: `{ thing: user(username: "alice") { projects(first: 10) { nodes { ${ITEMS.projects.fields} } } } }`,
    told: (json) => ({ projects: { nodes: rowsIn(json).map((row) => ITEMS.projects.node(row)) } }),
  },
  // The record has keys that the document does not know: they do no harm.
  "an experiment": {
    document: `{ thing: experiment(id: "alice.mnist.1.10") {
      ${ITEMS.experiments.fields} ${Object.keys(EXPERIMENT).join(" ")} config { kind raw }
    } }`,
    told: (json) => ({
      ...ITEMS.experiments.node(json),
      ...keysOf(json, EXPERIMENT),
      config: { kind: "experiment", raw: json["config"] },
    }),
  },
  // Without a recorded end it has no duration that grows.
  "a group that is done": {
    document: `{ thing: ${GROUP} {
      ${Object.keys(DONE).join(" ")} status phase isFinished finishedAt durationSeconds
      experimentCounts { total succeeded failed }
      hptuning { concurrency seed randomSearch { experimentCount } matrix { name definition { __typename } } }
    } }`,
    told: (json) => ({
      ...keysOf(json, DONE),
      status: "DONE",
      phase: "SUCCEEDED",
      isFinished: true,
      finishedAt: null,
      durationSeconds: null,
      experimentCounts: { total: 6, succeeded: 6, failed: 0 },
      hptuning: {
        concurrency: 3,
        seed: null,
        randomSearch: { experimentCount: 6 },
        matrix: ["activation:MatrixValues", "dropout:MatrixValues", "lr:MatrixLinspace"].map((each) => {
          const [name, __typename] = each.split(":");
          return { name, definition: { __typename } };
        }),
      },
    }),
  },
  cluster: {
    document: `{ thing: cluster { uuid nodes { ${Object.keys(NODE).join(" ")} } } }`,
    told: ({ uuid, nodes }) => ({ uuid, nodes: (nodes as readonly Row[]).map((row) => keysOf(row, NODE)) }),
  },
  // What the cluster tells of it is still there.
  "a node, as a plain user: the server fails": {
    document: `{ thing: node(name: "node-1") { name memory kubeletVersion } }`,
    told: () => null,
    behind: "cluster",
    refused: {
      at: "thing.kubeletVersion",
      data: { name: "node-1", memory: 7_843_635_200, kubeletVersion: null },
    },
  },
};

/** Those have their own story below. */
const OTHERS = ["lists builds by ids, one of them missing", "metrics of a group"];

test("each of the 15 recordings of release 0.4.4 has its row", () => {
  const names = [...Object.keys(ROWS), ...OTHERS].toSorted();
  expect(names).toEqual(samples.map((line) => line.case).toSorted());
});

test.each(Object.entries(ROWS))("release 0.4.4: %s", async (name, row) => {
  const { given, recorded } = await answerTo(samples, name, row);
  expect(given).toMatchObject(recorded);
});

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
  const { ask, calls } = await startSamples([lineOf(samples, OTHERS[0] ?? ""), made("builds/99/", missing)]);
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
