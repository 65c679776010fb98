import { expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import {
  recordedAs,
  recordedReads,
  recordedWrites,
  sortedOutcomeOf,
  startMade,
  startRecorded,
} from "../support/recorded-server.ts";

const experimentAs = (id: number, keys: object) => ({
  [`alice/mnist/experiments/${id}/`]: { ...recordedAs(recordedReads, `experiment detail ${id}`), ...keys },
});

test("one name is an experiment or a group, as the field says; a reference to a group leads to the group", async () => {
  const { ask, calls } = await startRecorded();
  const answer = await ask(`{
    experiment(id: "alice.mnist.1") { id uniqueName name }
    group(id: "alice.mnist.1") { id uniqueName name }
    member: experiment(id: "alice.mnist.1.10") { experimentGroup { __typename name } }
  }`);
  const named = (type: string, name: string) => ({
    id: globalId(`${type}:alice/mnist/1`),
    uniqueName: "alice.mnist.1",
    name,
  });
  expect(sortedOutcomeOf(answer)).toEqual({
    data: {
      experiment: named("Experiment", "baseline"),
      group: named("Group", "sweep"),
      member: { experimentGroup: { __typename: "Group", name: "sweep" } },
    },
    errors: [],
  });
  expect(calls()).toEqual([
    "GET alice/mnist/experiments/1/",
    "GET alice/mnist/experiments/10/",
    "GET alice/mnist/groups/1/",
  ]);
});

const times = (created_at: string, started_at: string, finished_at: string) => ({
  created_at,
  started_at,
  finished_at,
});

test.each([
  [
    "without a fraction where that is zero, as recorded",
    times(
      "2026-03-01T10:29:00+01:00",
      "2026-03-01T10:31:19.520785+01:00",
      "2026-03-01T10:32:51.539053+01:00",
    ),
    92.0183,
  ],
  [
    "of several time zones",
    times("2026-03-01T09:29:00.000001Z", "2026-03-01T10:31:19+01:00", "2026-03-01T09:32:51Z"),
    92,
  ],
])("timestamps %s pass through unchanged; durations reckon with them", async (_, stamps, seconds) => {
  const { ask } = await startMade(experimentAs(3, stamps));
  const fields = "createdAt startedAt finishedAt durationSeconds";
  expect(sortedOutcomeOf(await ask(`{ experiment(id: "alice.mnist.3") { ${fields} } }`))).toEqual({
    data: {
      experiment: {
        createdAt: stamps.created_at,
        startedAt: stamps.started_at,
        finishedAt: stamps.finished_at,
        durationSeconds: expect.closeTo(seconds, 2),
      },
    },
    errors: [],
  });
});

test("a metric that is no number has no value, but can be read as it came", async () => {
  const results = ["string value", "nested", "big"].map((what) =>
    recordedAs(recordedWrites, `experiment metrics post values ${what}`),
  );
  const { ask } = await startMade({
    ...experimentAs(5, { last_metric: { loss: "high", accuracy: 0.5 } }),
    "alice/mnist/experiments/5/metrics": { count: 3, next: null, results },
  });
  const answer = await ask(`{ experiment(id: "alice.mnist.5") {
    latestMetrics { name value raw }
    lastMetricValue(name: "loss")
    metrics { nodes { values { name value raw } } }
    metricSeries(names: ["loss"]) { name totalPoints values }
  } }`);
  const metric = (name: string, raw: unknown, value: number | null = null) => ({ name, value, raw });
  // JSON in JavaScript holds integers up to 2^53: the recorded ...993 is ...992 from there on.
  const big = 2 ** 53;
  const huge = [metric("int", big, big), metric("loss", 1e308, 1e308), metric("neg", 0, 0)];
  expect(sortedOutcomeOf(answer)).toEqual({
    data: {
      experiment: {
        latestMetrics: [metric("accuracy", 0.5, 0.5), metric("loss", "high")],
        lastMetricValue: null,
        metrics: {
          nodes: [
            { values: [metric("loss", "high")] },
            { values: [metric("loss", { a: 1 })] },
            { values: huge },
          ],
        },
        metricSeries: [{ name: "loss", totalPoints: 3, values: [null, null, 1e308] }],
      },
    },
    errors: [],
  });
});

test("a status that nobody has seen is OTHER, its text is kept, and the timestamps tell the phase", async () => {
  const jobAs = (id: number) => ({
    ...recordedAs(recordedReads, `job detail ${id}`),
    last_status: "preempted",
  });
  const { ask } = await startMade({
    "alice/mnist/jobs/1/": jobAs(1),
    "alice/mnist/jobs/2/": jobAs(2),
    "alice/mnist/jobs/2/statuses/": { results: [{ id: 1, status: "preempted" }] },
  });
  const fields = "status rawStatus phase isFinished";
  const answer = await ask(`{
    running: job(id: "alice.mnist.jobs.2") { ${fields} statuses { nodes { status rawStatus } } }
    ended: job(id: "alice.mnist.jobs.1") { ${fields} durationSeconds }
  }`);
  const other = { status: "OTHER", rawStatus: "preempted" };
  expect(sortedOutcomeOf(answer)).toEqual({
    data: {
      running: { ...other, phase: "ACTIVE", isFinished: false, statuses: { nodes: [other] } },
      ended: { ...other, phase: "UNKNOWN", isFinished: true, durationSeconds: expect.closeTo(69.0137, 2) },
    },
    errors: [],
  });
});
