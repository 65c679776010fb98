import { describe, expect, test } from "vitest";
import {
  recordedAs,
  recordedSamples,
  refusedRead,
  sortedOutcomeOf,
  startRecorded,
} from "../support/recorded-server.ts";

describe("release 0.4.4", () => {
  test("keys that the document does not know do no harm", async () => {
    const { ask, calls } = await startRecorded(recordedSamples, "b".repeat(64));
    const recorded = recordedAs(recordedSamples, "an experiment");
    expect(Object.keys(recorded)).toContain("cloning_strategy");
    const answer = await ask(`{
      experiment(id: "alice.mnist.1.10") {
        uniqueName uuid status createdAt declarations isClone hasTensorboard
        config { kind raw }
        lastMetric { name value }
        experimentGroup { uniqueName }
      }
    }`);
    expect(sortedOutcomeOf(answer)).toEqual({
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
    const { ask, calls } = await startRecorded(recordedSamples, "b".repeat(64));
    const answer = await ask(`{
      group(id: "alice.mnist.1") {
        status rawStatus phase isFinished startedAt finishedAt durationSeconds
        content
        hptuning { concurrency seed randomSearch { experimentCount } matrix { name definition { __typename } } }
        experimentCounts { total pending running scheduled succeeded failed stopped }
      }
    }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: {
        group: {
          status: "DONE",
          rawStatus: "done",
          phase: "SUCCEEDED",
          isFinished: true,
          startedAt: "2026-03-01T10:49:07.676063+01:00",
          finishedAt: null,
          durationSeconds: null,
          content: recordedAs(recordedSamples, "a group that is done")["content"],
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
    const { ask, calls } = await startRecorded(recordedSamples, "b".repeat(64));
    const answer = await ask(`{ node(name: "node-1") { name memory kubeletVersion } }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { node: { name: "node-1", memory: 7843635200, kubeletVersion: null } },
      errors: [
        refusedRead(
          "node.kubeletVersion",
          "UPSTREAM_ERROR",
          "The service answered 500.",
          "nodes/{sequence}",
          500,
        ),
      ],
    });
    expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
  });
});
