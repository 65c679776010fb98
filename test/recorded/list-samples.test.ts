import { describe, expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { type Line, lineOf, readRecording, startReplay } from "../support/replay.ts";

const samples = readRecording("0.4.4-samples");

const TOKEN = "b".repeat(64);

/** The gateway in front of recorded exchanges, and no others. */
async function startSamples(names: readonly string[], besides: readonly Line[] = []) {
  const upstream = await startReplay([...besides, ...names.map((name) => lineOf(samples, name))]);
  const gateway = await startGateway({ upstream, token: TOKEN, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return {
    ...gateway,
    /** The requests since the last look, decoded, below the project. */
    calls: () =>
      upstream
        .seen()
        .splice(0)
        .map(
          ({ method, path }) =>
            `${method} ${decodeURIComponent(path).replace(/^\/api\/v1\/(alice\/mnist\/)?/, "")}`,
        )
        .toSorted(),
  };
}

/** A line that was not recorded, in the manner of one that was. */
const made = (path: string, like: Line, json: unknown = like.json): Line => ({
  ...like,
  path: `/api/v1/alice/mnist/${path}`,
  headers: { Authorization: `token ${TOKEN}` },
  json,
});

const inProject = (fields: string) => `{ project(owner: "alice", name: "mnist") { ${fields} } }`;

const IN_GROUP = `query ($offset: Int) { group(id: "alice.mnist.1") {
  experiments(first: 3, orderBy: CREATED_ASC, offset: $offset) {
    nodes { uniqueName } totalCount pageInfo { hasNextPage endCursor }
  }
} }`;

/** What is asked of release 0.4.4, by the names of its recordings. */
const STORIES: Readonly<Record<string, (name: string) => Promise<void>>> = {
  "lists experiments by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const fields = 'uniqueName rawStatus buildJob { uniqueName } lastMetricValue(name: "loss") declarations';
    expect(
      await ask(
        inProject(
          ["1", "2", "3", "10"]
            .map((id) => `e${id}: experiment(internalId: "${id}") { ${fields} }`)
            .join("\n"),
        ),
      ),
    ).toEqual({
      data: {
        project: {
          e1: {
            uniqueName: "alice.mnist.1",
            rawStatus: "succeeded",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 0.1,
            declarations: { lr: 0.01, batch_size: 64 },
          },
          e2: {
            uniqueName: "alice.mnist.2",
            rawStatus: "running",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 0.8333,
            declarations: { lr: 0.1 },
          },
          e3: {
            uniqueName: "alice.mnist.3",
            rawStatus: "failed",
            buildJob: { uniqueName: "alice.mnist.builds.2" },
            lastMetricValue: 1.25,
            declarations: null,
          },
          e10: {
            uniqueName: "alice.mnist.1.10",
            rawStatus: "succeeded",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 1.25,
            declarations: { lr: 0.001, dropout: 0.25, activation: "relu" },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?query=id:1|2|3|10&limit=100"]);
  },

  "lists builds by ids, one of them missing": async (name) => {
    const missing = lineOf(readRecording("0.2.0-reads"), "build detail not found");
    const { ask, calls } = await startSamples([name], [made("builds/99/", missing)]);
    const { data, errors } = await ask(
      inProject(
        ["1", "2", "99"].map((id) => `b${id}: buildJob(internalId: "${id}") { rawStatus tags }`).join("\n"),
      ),
    );
    expect(data).toEqual({
      project: {
        b1: { rawStatus: "succeeded", tags: ["base"] },
        b2: { rawStatus: "failed", tags: null },
        b99: null,
      },
    });
    expect(errors).toMatchObject([
      {
        path: ["project", "b99"],
        message: "Not found.",
        extensions: {
          code: "NOT_FOUND",
          upstream: { method: "GET", route: "{owner}/{project}/builds/{id}/", status: 404 },
        },
      },
    ]);
    expect(calls()).toEqual(["GET builds/99/", "GET builds?query=id:1|2|99&limit=100"]);
  },

  "lists jobs by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        inProject(
          ["1", "5"]
            .map(
              (id) =>
                `j${id}: job(internalId: "${id}") { name status original { uniqueName } buildJob { uniqueName } }`,
            )
            .join("\n"),
        ),
      ),
    ).toEqual({
      data: {
        project: {
          j1: {
            name: "prep",
            status: "SUCCEEDED",
            original: null,
            buildJob: { uniqueName: "alice.mnist.builds.1" },
          },
          j5: {
            name: null,
            status: "CREATED",
            original: { uniqueName: "alice.mnist.jobs.1" },
            buildJob: null,
          },
        },
      },
    });
    expect(calls()).toEqual(["GET jobs?query=id:1|5&limit=100"]);
  },

  "lists groups by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(
      inProject(
        ["1", "2"]
          .map(
            (id) =>
              `g${id}: group(internalId: "${id}") { name rawStatus phase tags concurrency searchAlgorithm }`,
          )
          .join("\n"),
      ),
    );
    expect(errors).toBeUndefined();
    const search = { concurrency: 3, searchAlgorithm: "random" };
    expect(data).toEqual({
      project: {
        g1: { name: "sweep", rawStatus: "done", phase: "SUCCEEDED", tags: ["search"], ...search },
        g2: { name: null, rawStatus: "running", phase: "ACTIVE", tags: null, ...search },
      },
    });
    expect(calls()).toEqual(["GET groups?query=id:1|2&limit=100"]);
  },

  "experiments of a group": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(await ask(IN_GROUP)).toEqual({
      data: {
        group: {
          experiments: {
            nodes: [10, 11, 12].map((id) => ({ uniqueName: `alice.mnist.1.${id}` })),
            totalCount: 6,
            pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?group=1&sort=created_at,-updated_at&limit=3"]);
  },

  "experiments of a group, second page": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(await ask(IN_GROUP, { offset: 3 })).toEqual({
      data: {
        group: {
          experiments: {
            nodes: [13, 14, 15].map((id) => ({ uniqueName: `alice.mnist.1.${id}` })),
            totalCount: 6,
            pageInfo: { hasNextPage: false, endCursor: expect.any(String) },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?group=1&sort=created_at,-updated_at&limit=3&offset=3"]);
  },

  "experiments of a build": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        inProject(
          `experiments(first: 2, query: "build:1") { nodes { uniqueName status lastMetric { name } } totalCount }`,
        ),
      ),
    ).toEqual({
      data: {
        project: {
          experiments: {
            nodes: [
              { uniqueName: "alice.mnist.2.21", status: "CREATED", lastMetric: [] },
              { uniqueName: "alice.mnist.2.20", status: "SCHEDULED", lastMetric: [] },
            ],
            totalCount: 14,
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?query=build:1&limit=2"]);
  },

  "a filter that is refused": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(inProject(`experiments(query: "nonsense:1") { totalCount }`));
    expect(data).toEqual({ project: { experiments: null } });
    expect(errors).toMatchObject([
      {
        message: "key `nonsense` is not supported by query manager `experiment`.",
        extensions: { code: "BAD_USER_INPUT", upstream: { status: 400 } },
      },
    ]);
    expect(calls()).toEqual(["GET experiments?query=nonsense:1"]);
  },

  // Recorded with a limit, which the gateway does not set: it wants the metrics of the whole group.
  "metrics of a group": async (name) => {
    const recorded = lineOf(samples, name);
    const { results } = recorded.json as { results: readonly { id: number; experiment: number }[] };
    const pageOf = (rows: readonly object[]) => ({
      count: rows.length,
      next: null,
      previous: null,
      results: rows,
    });
    const own = [10, 11, 12].map((id) =>
      made(`experiments/${id}/metrics`, recorded, pageOf(results.filter((row) => row.experiment === id))),
    );
    const document = IN_GROUP.replace("uniqueName", 'internalId metricSeries(names: ["loss"]) { values }');
    const told = {
      group: {
        experiments: {
          nodes: [
            { internalId: "10", metricSeries: [{ values: [2.5, 1.25] }] },
            { internalId: "11", metricSeries: [{ values: [2.5, 1.25] }] },
            { internalId: "12", metricSeries: [] },
          ],
        },
      },
    };

    const all = made("groups/1/metrics", recorded, pageOf(results));
    const whole = await startSamples(["experiments of a group"], [all]);
    expect((await whole.ask(document)).data).toMatchObject(told);
    expect(whole.calls()).toEqual([
      "GET experiments?group=1&sort=created_at,-updated_at&limit=3",
      "GET groups/1/metrics",
    ]);

    // As it came, with a next page: it does not tell that an experiment has no more.
    const part = await startSamples(["experiments of a group"], [made("groups/1/metrics", recorded), ...own]);
    expect((await part.ask(document)).data).toMatchObject(told);
    expect(part.calls()).toEqual([
      "GET experiments/10/metrics",
      "GET experiments/11/metrics",
      "GET experiments/12/metrics",
      "GET experiments?group=1&sort=created_at,-updated_at&limit=3",
      "GET groups/1/metrics",
    ]);
  },

  "log of a job of an experiment": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(
      `{ experimentJob(id: "alice.mnist.1.1.master") { logs(tailLines: 2) { lines hasMore } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      experimentJob: {
        logs: {
          lines: [
            "2026-03-01T09:06:00.000000Z epoch 6 loss=0.357",
            "2026-03-01T09:07:00.000000Z epoch 7 loss=0.312",
          ],
          hasMore: false,
        },
      },
    });
    expect(calls()).toEqual(["GET experiments/1/jobs/1/logs"]);
  },

  "projects of an owner": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        `{ project(owner: "alice", name: "mnist") { owner { projects(first: 10) { nodes { uniqueName } totalCount } } } }`,
      ),
    ).toEqual({
      data: {
        project: {
          owner: {
            projects: {
              nodes: [{ uniqueName: "alice.quick-start" }, { uniqueName: "alice.mnist" }],
              totalCount: 2,
            },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET alice?limit=10"]);
  },

  "an experiment": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        `{ experiment(id: "alice.mnist.1.10") { status isClone jobCount resources config { kind run { cmd } } } }`,
      ),
    ).toEqual({
      data: {
        experiment: {
          status: "SUCCEEDED",
          isClone: false,
          jobCount: 0,
          resources: null,
          config: {
            kind: "experiment",
            run: { cmd: "python train.py --lr=0.001 --dropout=0.25 --activation=relu" },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments/10/"]);
  },

  "a group that is done": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(`{ group(id: "alice.mnist.1") {
        rawStatus phase isFinished finishedAt experimentCounts { total succeeded } currentIteration
      } }`),
    ).toEqual({
      data: {
        group: {
          rawStatus: "done",
          phase: "SUCCEEDED",
          isFinished: true,
          finishedAt: null,
          experimentCounts: { total: 6, succeeded: 6 },
          currentIteration: 0,
        },
      },
    });
    expect(calls()).toEqual(["GET groups/1/"]);
  },

  cluster: async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask("{ cluster { platformVersion { gitVersion } nodes { name sequence gpuCount } } }"),
    ).toEqual({
      data: {
        cluster: {
          platformVersion: { gitVersion: "v1.10.3" },
          nodes: [
            { name: "node-1", sequence: 1, gpuCount: 0 },
            { name: "node-2", sequence: 2, gpuCount: 0 },
            { name: "node-3", sequence: 3, gpuCount: 1 },
          ],
        },
      },
    });
    expect(calls()).toEqual(["GET cluster/"]);
  },

  "a node, as a plain user: the server fails": async (name) => {
    const { ask, calls } = await startSamples([name, "cluster"]);
    const { data, errors } = await ask(`{ node(name: "node-1") { memory kubeletVersion } }`);
    // What the cluster tells of it is there.
    expect(data).toEqual({ node: { memory: 7_843_635_200, kubeletVersion: null } });
    expect(errors).toMatchObject([
      {
        path: ["node", "kubeletVersion"],
        message: "The service answered 500.",
        extensions: { code: "UPSTREAM_ERROR", upstream: { route: "nodes/{sequence}", status: 500 } },
      },
    ]);
    expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
  },
};

describe("release 0.4.4", () => {
  test("each of its 15 recordings has its story", () => {
    expect(Object.keys(STORIES)).toEqual(samples.map((line) => line.case));
    expect(samples).toHaveLength(15);
  });

  test.each(Object.entries(STORIES))("%s", async (name, story) => {
    expect.hasAssertions();
    await story(name);
  });
});
