import { describe, expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import {
  recordedAs,
  recordedReads,
  recordedWrites,
  sortedOutcomeOf,
  startMade,
  startRecorded,
} from "../support/recorded-server.ts";

describe("release 0.2.0, names", () => {
  test("an experiment of a group has a name of four parts; its group and its build are known without asking", async () => {
    const { ask, calls } = await startRecorded();
    const recorded = recordedAs(recordedReads, "experiment detail 10");
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
        ...recordedAs(recordedReads, "experiment detail 3"),
        created_at: "2026-03-01T09:29:00.000001Z",
        started_at: "2026-03-01T10:31:19+01:00",
        finished_at: "2026-03-01T09:32:51Z",
      },
    });
    const answer = await ask(
      `{ experiment(id: "alice.mnist.3") { createdAt startedAt finishedAt durationSeconds } }`,
    );
    expect(sortedOutcomeOf(answer)).toEqual({
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
      recordedAs(recordedWrites, `experiment metrics post values ${what}`),
    );
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/5/": {
        ...recordedAs(recordedReads, "experiment detail 5"),
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
    const running = { ...recordedAs(recordedReads, "job detail 2"), last_status: "preempted" };
    const ended = { ...recordedAs(recordedReads, "job detail 1"), last_status: "preempted" };
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
    expect(sortedOutcomeOf(answer)).toEqual({
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
