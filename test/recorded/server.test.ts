import { describe, expect, onTestFinished, test } from "vitest";
import { sortedErrorsOf } from "../support/errors.ts";
import { startRecords } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type Line, lineOf, readRecording, startReplay } from "../support/replay.ts";

const reads = readRecording("0.2.0-reads");
const writes = readRecording("0.2.0-writes");
const samples = readRecording("0.4.4-samples");

/** The tokens of release 0.2.0. */
const token = { root: "a".repeat(40), alice: "b".repeat(40), bob: "c".repeat(40), carol: "d".repeat(40) };

/** The gateway in front of a recorded server, signed in as alice. */
async function startRecorded(lines: readonly Line[] = reads, as = token.alice) {
  const upstream = await startReplay(lines);
  return { ...(await startGateway({ upstream, token: as })), calls: upstream.calls };
}

/** The gateway in front of records that no recording holds. */
async function startMade(records: Record<string, unknown>) {
  const upstream = await startRecords(records);
  return { ...(await startGateway({ upstream })), calls: upstream.calls };
}

/** The record that was recorded under this name. All of them are objects. */
const recordOf = (lines: readonly Line[], name: string) =>
  lineOf(lines, name).json as Record<string, unknown>;

/** A whole answer, its errors in the order of their places. The request id differs each time: no part of it. */
const outcomeOf = (answer: Answer<unknown>) => ({ data: answer.data, errors: sortedErrorsOf(answer) });

const told = (at: string, code: string, message: string, route: string, status: number) => ({
  at,
  code,
  message,
  upstream: { method: "GET", route, status },
});

/** What a field tells of a record or list that the caller may not read, or that is not there. */
const forbidden = (at: string, route: string) =>
  told(at, "FORBIDDEN", "You do not have permission to perform this action.", route, 403);
const missing = (at: string, route: string) => told(at, "NOT_FOUND", "Not found.", route, 404);

const E = "{owner}/{project}/experiments/{id}/";
const J = "{owner}/{project}/jobs/{id}/";
const B = "{owner}/{project}/builds/{id}/";
const G = "{owner}/{project}/groups/{id}/";

describe("release 0.2.0, names", () => {
  test("an experiment of a group has a name of four parts; its group and its build are known without asking", async () => {
    const { ask, calls } = await startRecorded();
    const recorded = recordOf(reads, "experiment detail 10");
    const answer = await ask(`{
      experiment(id: "alice.mnist.1.10") {
        internalId uniqueName uuid name status phase createdAt updatedAt durationSeconds isClone jobCount hasTensorboard
        declarations resources
        lastMetric { name value }
        config { version kind run { cmd } build { image buildSteps } raw }
        user { username }
        project { uniqueName }
        original { uniqueName }
        experimentGroup { internalId uniqueName }
        buildJob { internalId uniqueName }
      }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          internalId: "10",
          uniqueName: "alice.mnist.1.10",
          uuid: recorded["uuid"],
          name: null,
          status: "SUCCEEDED",
          phase: "SUCCEEDED",
          createdAt: "2026-03-01T10:50:41.694331+01:00",
          updatedAt: "2026-03-01T10:52:59.721733+01:00",
          durationSeconds: expect.closeTo(92.0183, 2),
          isClone: false,
          jobCount: 0,
          hasTensorboard: null,
          declarations: { lr: 0.001, dropout: 0.25, activation: "relu" },
          resources: null,
          lastMetric: [
            { name: "accuracy", value: 0.54 },
            { name: "loss", value: 1.25 },
          ],
          config: {
            version: 1,
            kind: "experiment",
            run: { cmd: "python train.py --lr=0.001 --dropout=0.25 --activation=relu" },
            build: { image: "python:3.6", buildSteps: ["pip install -U numpy"] },
            raw: recorded["config"],
          },
          user: { username: "alice" },
          project: { uniqueName: "alice.mnist" },
          original: null,
          experimentGroup: { internalId: "1", uniqueName: "alice.mnist.1" },
          buildJob: { internalId: "1", uniqueName: "alice.mnist.builds.1" },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/10/"]);
  });

  test("a group reference leads to the group, although an experiment has the very same name", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      experiment(id: "alice.mnist.1.10") {
        experimentGroup { __typename uniqueName name tags experimentCounts { total succeeded } }
      }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          experimentGroup: {
            __typename: "Group",
            uniqueName: "alice.mnist.1",
            name: "sweep",
            tags: ["search"],
            experimentCounts: { total: 6, succeeded: 6 },
          },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/10/", "GET alice/mnist/groups/1/"]);
  });

  test("one name is an experiment or a group, as the field says, and their global ids differ", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      experiment(id: "alice.mnist.1") { id uniqueName name }
      group(id: "alice.mnist.1") { id uniqueName name }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          id: globalId("Experiment:alice/mnist/1"),
          uniqueName: "alice.mnist.1",
          name: "baseline",
        },
        group: {
          id: globalId("Group:alice/mnist/1"),
          uniqueName: "alice.mnist.1",
          name: "sweep",
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET alice/mnist/groups/1/"]);
  });
});

describe("release 0.2.0, values", () => {
  test("a timestamp whose fraction is zero comes without one, and passes through unchanged", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(
      `{ experiment(id: "alice.mnist.3") { createdAt startedAt finishedAt durationSeconds } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          createdAt: "2026-03-01T10:29:00+01:00",
          startedAt: "2026-03-01T10:31:19.520785+01:00",
          finishedAt: "2026-03-01T10:32:51.539053+01:00",
          durationSeconds: expect.closeTo(92.0183, 2),
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/3/"]);
  });

  test("a server in UTC writes Z, which passes through unchanged; durations reckon with the offsets", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/3/": {
        ...recordOf(reads, "experiment detail 3"),
        created_at: "2026-03-01T09:29:00.000001Z",
        started_at: "2026-03-01T10:31:19+01:00",
        finished_at: "2026-03-01T09:32:51Z",
      },
    });
    const answer = await ask(
      `{ experiment(id: "alice.mnist.3") { createdAt startedAt finishedAt durationSeconds } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          createdAt: "2026-03-01T09:29:00.000001Z",
          startedAt: "2026-03-01T10:31:19+01:00",
          finishedAt: "2026-03-01T09:32:51Z",
          durationSeconds: 92,
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/3/"]);
  });

  test("null where the document says string or object is null, and no error", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      buildJob(id: "alice.quick-start.builds.4") {
        name dockerfile commit startedAt durationSeconds phase
        config { build { image buildSteps } run { cmd } }
        nodeScheduled { name }
      }
      job(id: "alice.mnist.jobs.5") { buildJob { uniqueName } nodeScheduled { name memory } original { uniqueName } }
      experiment(id: "alice.quick-start.22") { lastMetric { name } lastMetricValue(name: "loss") declarations }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        buildJob: {
          name: null,
          dockerfile: null,
          commit: null,
          startedAt: null,
          durationSeconds: null,
          phase: "PENDING",
          config: { build: { image: "busybox", buildSteps: null }, run: null },
          nodeScheduled: null,
        },
        job: { buildJob: null, nodeScheduled: null, original: { uniqueName: "alice.mnist.jobs.1" } },
        experiment: { lastMetric: null, lastMetricValue: null, declarations: null },
      },
      errors: [],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/jobs/5/",
      "GET alice/quick-start/builds/4/",
      "GET alice/quick-start/experiments/22/",
    ]);
  });

  test("a metric that is no number has no value, but can be read as it came", async () => {
    const results = ["string value", "nested", "big"].map((what) =>
      recordOf(writes, `experiment metrics post values ${what}`),
    );
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/5/": {
        ...recordOf(reads, "experiment detail 5"),
        last_metric: { loss: "high", accuracy: 0.5 },
      },
      "alice/mnist/experiments/5/metrics": { count: 3, next: null, previous: null, results },
    });
    const answer = await ask(`{
      experiment(id: "alice.mnist.5") {
        lastMetric { name value raw }
        lastMetricValue(name: "loss")
        metrics { nodes { value(name: "loss") values { name value raw } } }
        metricSeries(names: ["loss"]) { name totalPoints values }
      }
    }`);
    // JSON in JavaScript holds integers up to 2^53: the recorded ...993 is ...992 from there on.
    const big = 2 ** 53;
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          lastMetric: [
            { name: "accuracy", value: 0.5, raw: 0.5 },
            { name: "loss", value: null, raw: "high" },
          ],
          lastMetricValue: null,
          metrics: {
            nodes: [
              { value: null, values: [{ name: "loss", value: null, raw: "high" }] },
              { value: null, values: [{ name: "loss", value: null, raw: { a: 1 } }] },
              {
                value: 1e308,
                values: [
                  { name: "int", value: big, raw: big },
                  { name: "loss", value: 1e308, raw: 1e308 },
                  { name: "neg", value: 0, raw: 0 },
                ],
              },
            ],
          },
          metricSeries: [{ name: "loss", totalPoints: 3, values: [null, null, 1e308] }],
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/5/", "GET alice/mnist/experiments/5/metrics"]);
  });

  test("a status that nobody has seen is OTHER, its text is kept, and the timestamps tell the phase", async () => {
    const running = { ...recordOf(reads, "job detail 2"), last_status: "preempted" };
    const ended = { ...recordOf(reads, "job detail 1"), last_status: "preempted" };
    const { ask, calls } = await startMade({
      "alice/mnist/jobs/1/": ended,
      "alice/mnist/jobs/2/": running,
      "alice/mnist/jobs/2/statuses/": { results: [{ id: 1, status: "preempted" }] },
    });
    const answer = await ask(`{
      running: job(id: "alice.mnist.jobs.2") {
        status rawStatus phase isFinished statuses { nodes { status rawStatus } }
      }
      ended: job(id: "alice.mnist.jobs.1") { status rawStatus phase isFinished durationSeconds }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        running: {
          status: "OTHER",
          rawStatus: "preempted",
          phase: "ACTIVE",
          isFinished: false,
          statuses: { nodes: [{ status: "OTHER", rawStatus: "preempted" }] },
        },
        ended: {
          status: "OTHER",
          rawStatus: "preempted",
          phase: "UNKNOWN",
          isFinished: true,
          durationSeconds: expect.closeTo(69.0137, 2),
        },
      },
      errors: [],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/jobs/1/",
      "GET alice/mnist/jobs/2/",
      "GET alice/mnist/jobs/2/statuses/",
    ]);
  });
});

describe("release 0.2.0, who may read", () => {
  test("a server that sees no token answers 200 without a name or 403: both are UNAUTHENTICATED", async () => {
    // The gateway always sends its caller's token: here it reaches a server that overlooks it.
    const overlooked = reads
      .filter(({ headers }) => !("Authorization" in headers))
      .map((line): Line => ({ ...line, headers: { Authorization: `token ${token.alice}` } }));
    const { ask, calls } = await startRecorded(overlooked);
    const answer = await ask(
      `{ cluster { uuid } experiment(id: "alice.mnist.1") { name } viewer { username } }`,
    );
    const message = "Authentication credentials were not provided.";
    expect(outcomeOf(answer)).toEqual({
      data: { viewer: null, experiment: null, cluster: null },
      errors: [
        told("cluster", "UNAUTHENTICATED", message, "cluster/", 403),
        told("experiment", "UNAUTHENTICATED", message, E, 403),
        { at: "viewer", code: "UNAUTHENTICATED", message: "The service says that nobody is signed in." },
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET cluster/", "GET users/"]);
  });

  test.each([
    ["a token nobody has", "0000", "Invalid token."],
    ["the token of a user who was put out", token.carol, "User inactive or deleted."],
  ])("%s is UNAUTHENTICATED, although the server says 403", async (_, sent, message) => {
    const { ask, calls } = await startRecorded();
    const query = `{ experiment(id: "alice.mnist.1") { name } viewer { username } }`;
    expect(outcomeOf(await ask(query, {}, { token: sent }))).toEqual({
      data: { experiment: null, viewer: null },
      errors: [
        told("experiment", "UNAUTHENTICATED", message, E, 403),
        told("viewer", "UNAUTHENTICATED", message, "users/", 403),
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET users/"]);
  });

  test("a private project is open to its owner and to superusers, and FORBIDDEN to others", async () => {
    const { ask, calls } = await startRecorded();
    const query = `{ experiment(id: "alice.quick-start.22") { uniqueName status } }`;
    const shown = {
      data: { experiment: { uniqueName: "alice.quick-start.22", status: "SUCCEEDED" } },
      errors: [],
    };
    expect(outcomeOf(await ask(query, {}, { token: token.alice }))).toEqual(shown);
    expect(outcomeOf(await ask(query, {}, { token: token.root }))).toEqual(shown);
    expect(outcomeOf(await ask(query, {}, { token: token.bob }))).toEqual({
      data: { experiment: null },
      errors: [forbidden("experiment", E)],
    });
    expect(calls()).toEqual(Array(3).fill("GET alice/quick-start/experiments/22/"));
  });

  test("every route below somebody else's private project is FORBIDDEN at its own field", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      buildJob(id: "bob.secret.builds.5") { name }
      experiment(id: "bob.secret.23") { internalId logs { text } metrics { totalCount } }
      group(id: "bob.secret.4") { name }
      job(id: "bob.secret.jobs.7") { name }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        buildJob: null,
        experiment: { internalId: "23", logs: null, metrics: null },
        group: null,
        job: null,
      },
      errors: [
        forbidden("buildJob", B),
        forbidden("experiment.logs", `${E}logs/`),
        forbidden("experiment.metrics", `${E}metrics`),
        forbidden("group", G),
        forbidden("job", J),
      ],
    });
    expect(calls()).toEqual([
      "GET bob/secret/builds/5/",
      "GET bob/secret/experiments/23/logs/",
      "GET bob/secret/experiments/23/metrics",
      "GET bob/secret/groups/4/",
      "GET bob/secret/jobs/7/",
    ]);
  });

  test("a public project can be read by everybody", async () => {
    const { ask, calls } = await startRecorded();
    const query = `{ experiment(id: "alice.mnist.1") { name user { username } } }`;
    expect(outcomeOf(await ask(query, {}, { token: token.bob }))).toEqual({
      data: { experiment: { name: "baseline", user: { username: "alice" } } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test("a machine's name costs nothing; its memory, like the cluster, is FORBIDDEN to plain users, and the name stays", async () => {
    const { ask, calls } = await startRecorded();
    const named = await ask(`{ job(id: "alice.mnist.jobs.1") { nodeScheduled { id name } } }`);
    expect(outcomeOf(named)).toEqual({
      data: {
        job: { nodeScheduled: { id: globalId("Node:node-1"), name: "node-1" } },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/jobs/1/"]);

    const measured = await ask(
      `{ cluster { uuid } job(id: "alice.mnist.jobs.1") { name nodeScheduled { name memory } } }`,
    );
    expect(outcomeOf(measured)).toEqual({
      data: { cluster: null, job: { name: "prep", nodeScheduled: { name: "node-1", memory: null } } },
      errors: [
        {
          ...forbidden("cluster", "cluster/"),
          paths: [["cluster"], ["job", "nodeScheduled", "memory"]],
        },
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/jobs/1/", "GET alice/mnist/jobs/1/", "GET cluster/"]);
  });

  test("a superuser reads the machine a run was placed on by way of the cluster's list", async () => {
    const { ask, calls } = await startRecorded(reads, token.root);
    const answer = await ask(
      `{ node(name: "node-3") { sequence memory status kubeletVersion gpuCount gpus } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: {
        node: {
          sequence: 3,
          memory: 7843635200,
          status: "notReady",
          kubeletVersion: "v1.10.3",
          gpuCount: 1,
          gpus: recordOf(reads, "node 3 as superuser")["gpus"],
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET cluster/", "GET nodes/3"]);
  });
});

describe("release 0.2.0, what is not there", () => {
  test("a missing record is NOT_FOUND at its field, also when it is another project's", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      buildJob(id: "alice.mnist.builds.999") { name }
      elsewhere: experiment(id: "alice.mnist.22") { name }
      experiment(id: "alice.mnist.9999") { name statuses { totalCount } }
      experimentJob(id: "alice.mnist.1.99.master") { role }
      group(id: "alice.mnist.999") { name }
      job(id: "alice.mnist.jobs.999") { name }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        buildJob: null,
        elsewhere: null,
        experiment: null,
        experimentJob: null,
        group: null,
        job: null,
      },
      errors: [
        missing("buildJob", B),
        missing("elsewhere", E),
        missing("experiment", E),
        missing("experimentJob", "{owner}/{project}/experiments/{experiment}/jobs/{id}/"),
        missing("group", G),
        missing("job", J),
      ],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/builds/999/",
      "GET alice/mnist/experiments/1/jobs/99/",
      "GET alice/mnist/experiments/22/",
      "GET alice/mnist/experiments/9999/",
      "GET alice/mnist/experiments/9999/statuses",
      "GET alice/mnist/groups/999/",
      "GET alice/mnist/jobs/999/",
    ]);
  });

  test("an HTML page for a path the server does not know is no missing record", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(
      `{ project(owner: "alice", name: "mn.ist") { experiment(internalId: 1) { name } } }`,
    );
    const message = `This server does not offer GET ${E}, or failed at it.`;
    expect(outcomeOf(answer)).toEqual({
      data: { project: { experiment: null } },
      errors: [told("project.experiment", "UPSTREAM_UNSUPPORTED", message, E, 404)],
    });
    expect(calls()).toEqual(["GET alice/mn.ist/experiments/1/"]);
  });

  test("a log that was never written is null without error; a log of a record that is not there is NOT_FOUND", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      buildJob(id: "alice.mnist.builds.3") { logs { text } }
      experiment(id: "alice.mnist.2") { logs { text } }
      job(id: "alice.mnist.jobs.2") { logs { text } }
      nowhere: experiment(id: "alice.mnist.9999") { logs { text } }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        buildJob: { logs: null },
        experiment: { logs: null },
        job: { logs: null },
        nowhere: null,
      },
      errors: [missing("nowhere", E)],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/builds/3/",
      "GET alice/mnist/builds/3/logs",
      "GET alice/mnist/experiments/2/",
      "GET alice/mnist/experiments/2/logs/",
      "GET alice/mnist/experiments/9999/",
      "GET alice/mnist/experiments/9999/logs/",
      "GET alice/mnist/jobs/2/",
      "GET alice/mnist/jobs/2/logs",
    ]);
  });

  test("a log is plain text, although the server calls it HTML", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      experiment(id: "alice.mnist.1") { logs { text contentType hasMore startByte } }
      job(id: "alice.mnist.jobs.1") { logs(tailLines: 2) { lines hasMore startByte } }
    }`);
    const jobLog = lineOf(reads, "job logs done").text ?? "";
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          logs: {
            text: lineOf(reads, "experiment logs done").text,
            contentType: "text/html; charset=utf-8",
            hasMore: false,
            startByte: 0,
          },
        },
        job: {
          logs: {
            lines: [
              "2026-03-01T09:03:00.000000Z line 3 of alice.mnist.jobs.1",
              "2026-03-01T09:04:00.000000Z line 4 of alice.mnist.jobs.1",
            ],
            hasMore: false,
            startByte: jobLog.indexOf("2026-03-01T09:03"),
          },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/logs/", "GET alice/mnist/jobs/1/logs"]);
  });
});

describe("release 0.4.4", () => {
  test("keys that the document does not know do no harm", async () => {
    const { ask, calls } = await startRecorded(samples, "b".repeat(64));
    const recorded = recordOf(samples, "an experiment");
    expect(Object.keys(recorded)).toContain("cloning_strategy");
    const answer = await ask(`{
      experiment(id: "alice.mnist.1.10") {
        uniqueName uuid status createdAt declarations isClone hasTensorboard
        config { kind raw }
        lastMetric { name value }
        experimentGroup { uniqueName }
      }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          uniqueName: "alice.mnist.1.10",
          uuid: recorded["uuid"],
          status: "SUCCEEDED",
          createdAt: recorded["created_at"],
          declarations: recorded["declarations"],
          isClone: false,
          hasTensorboard: null,
          config: { kind: "experiment", raw: recorded["config"] },
          lastMetric: [
            { name: "accuracy", value: 0.54 },
            { name: "loss", value: 1.25 },
          ],
          experimentGroup: { uniqueName: "alice.mnist.1" },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/10/"]);
  });

  test("a group that is done has succeeded; without a recorded end it has no duration that grows", async () => {
    const { ask, calls } = await startRecorded(samples, "b".repeat(64));
    const answer = await ask(`{
      group(id: "alice.mnist.1") {
        status rawStatus phase isFinished startedAt finishedAt durationSeconds
        content
        hptuning { concurrency seed randomSearch { experimentCount } matrix { name definition { __typename } } }
        experimentCounts { total pending running scheduled succeeded failed stopped }
      }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        group: {
          status: "DONE",
          rawStatus: "done",
          phase: "SUCCEEDED",
          isFinished: true,
          startedAt: "2026-03-01T10:49:07.676063+01:00",
          finishedAt: null,
          durationSeconds: null,
          content: recordOf(samples, "a group that is done")["content"],
          hptuning: {
            concurrency: 3,
            seed: null,
            randomSearch: { experimentCount: 6 },
            matrix: [
              { name: "activation", definition: { __typename: "MatrixValues" } },
              { name: "dropout", definition: { __typename: "MatrixValues" } },
              { name: "lr", definition: { __typename: "MatrixLinspace" } },
            ],
          },
          experimentCounts: {
            total: 6,
            pending: 0,
            running: 0,
            scheduled: 0,
            succeeded: 6,
            failed: 0,
            stopped: 0,
          },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/groups/1/"]);
  });

  test("when the server fails at a machine's details, what the cluster tells of it is still there", async () => {
    const { ask, calls } = await startRecorded(samples, "b".repeat(64));
    const answer = await ask(`{ node(name: "node-1") { name memory kubeletVersion } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { node: { name: "node-1", memory: 7843635200, kubeletVersion: null } },
      errors: [
        told("node.kubeletVersion", "UPSTREAM_ERROR", "The service answered 500.", "nodes/{sequence}", 500),
      ],
    });
    expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
  });
});

/** A recorded record as releases from 0.5 on write it: `config` and `declarations` under other names. */
function renewed(name: string, keys: object) {
  const { config: _, declarations: __, ...rest } = recordOf(reads, name);
  return { ...rest, ...keys };
}

describe("releases from 0.5 on", () => {
  const CONTENT = `---
version: 1
kind: experiment
build:
  image: python:3.6
  build_steps:
    - pip install -U numpy
run:
  cmd: python train.py --lr={{ lr }}
`;
  const written = {
    version: 1,
    kind: "experiment",
    build: { image: "python:3.6", build_steps: ["pip install -U numpy"] },
    run: { cmd: "python train.py --lr={{ lr }}" },
  };
  const shown = {
    version: 1,
    kind: "experiment",
    build: { image: "python:3.6", buildSteps: ["pip install -U numpy"] },
    run: { cmd: "python train.py --lr={{ lr }}" },
    raw: written,
  };
  const config = "config { version kind build { image buildSteps } run { cmd } raw }";

  test("`params` are the declarations, and `content`, YAML or JSON, is the configuration", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {
        content: CONTENT,
        params: { lr: 0.01, layers: [64, 32] },
      }),
      "alice/mnist/jobs/1/": renewed("job detail 1", { content: JSON.stringify(written) }),
      "alice/mnist/builds/1/": renewed("build detail 1", { content: CONTENT }),
    });
    const answer = await ask(`{
      experiment(id: "alice.mnist.1") { name declarations ${config} }
      job(id: "alice.mnist.jobs.1") { name ${config} }
      buildJob(id: "alice.mnist.builds.1") { commit ${config} }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: { name: "baseline", declarations: { lr: 0.01, layers: [64, 32] }, config: shown },
        job: { name: "prep", config: shown },
        buildJob: { commit: "3f786850e387550fdab836ed7e6dc881de23001b", config: shown },
      },
      errors: [],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/builds/1/",
      "GET alice/mnist/experiments/1/",
      "GET alice/mnist/jobs/1/",
    ]);
  });

  test("a record with old and new keys is read by the old ones", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": {
        ...recordOf(reads, "experiment detail 1"),
        content: "kind: other",
        params: { lr: 9 },
      },
    });
    const answer = await ask(
      `{ experiment(id: "alice.mnist.1") { declarations config { kind run { cmd } } } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: {
        experiment: {
          declarations: { lr: 0.01, batch_size: 64 },
          config: { kind: "experiment", run: { cmd: "python train.py --run=0" } },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test.each([
    ["null", null],
    ["no YAML", "run: {cmd: [unclosed"],
    ["YAML of something else than an object", "just a sentence"],
    ["empty", ""],
  ])("content that is %s leaves the configuration null and the rest as it is", async (_, content) => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", { content, params: null }),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { name declarations config { kind } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { experiment: { name: "baseline", declarations: null, config: null } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test("a record without configuration and declarations under any name is asked for once", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {}),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { name declarations config { kind } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { experiment: { name: "baseline", declarations: null, config: null } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test("what a content says is not repeated in a warning of the process", async () => {
    const warned: string[] = [];
    const listen = ({ message }: Error) => void warned.push(message);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const { ask } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {
        content: "run:\n  cmd: !vault train --password=xyzzy\n",
      }),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { config { run { cmd } } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { experiment: { config: { run: { cmd: "train --password=xyzzy" } } } },
      errors: [],
    });
    expect(warned.filter((message) => message.includes("xyzzy"))).toEqual([]);
  });

  test("the content of a group stays text", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/groups/1/": { ...recordOf(reads, "group detail 1"), content: CONTENT },
    });
    expect(outcomeOf(await ask(`{ group(id: "alice.mnist.1") { content } }`))).toEqual({
      data: { group: { content: CONTENT } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/groups/1/"]);
  });
});
