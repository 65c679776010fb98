import { describe, expect, test } from "vitest";
import {
  BUILD_ROUTE,
  EXPERIMENT_ROUTE,
  GROUP_ROUTE,
  JOB_ROUTE,
  missingRead,
  recordedReads,
  refusedRead,
  sortedOutcomeOf,
  startRecorded,
} from "../support/recorded-server.ts";
import { lineOf } from "../support/replay.ts";

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
    expect(sortedOutcomeOf(answer)).toEqual({
      data: Object.fromEntries(
        ["buildJob", "elsewhere", "experiment", "experimentJob", "group", "job"].map((at) => [at, null]),
      ),
      errors: [
        missingRead("buildJob", BUILD_ROUTE),
        missingRead("elsewhere", EXPERIMENT_ROUTE),
        missingRead("experiment", EXPERIMENT_ROUTE),
        missingRead("experimentJob", "{owner}/{project}/experiments/{experiment}/jobs/{id}/"),
        missingRead("group", GROUP_ROUTE),
        missingRead("job", JOB_ROUTE),
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
    const message =
      "The server has no such path, or failed at it: known servers take only letters, digits, `-` and `_` in a name of a path, such as that of a user or a project.";
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { project: { experiment: null } },
      errors: [refusedRead("project.experiment", "UPSTREAM_UNSUPPORTED", message, EXPERIMENT_ROUTE, 404)],
    });
    expect(calls()).toEqual(["GET alice/mn.ist/experiments/1/"]);
  });

  test("a log that was never written is null without error; a log of a record that is not there is NOT_FOUND", async () => {
    const { ask } = await startRecorded();
    const answer = await ask(`{
      buildJob(id: "alice.mnist.builds.3") { logs { text } }
      experiment(id: "alice.mnist.2") { logs { text } }
      job(id: "alice.mnist.jobs.2") { logs { text } }
      nowhere: experiment(id: "alice.mnist.9999") { logs { text } }
    }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: {
        buildJob: { logs: null },
        experiment: { logs: null },
        job: { logs: null },
        nowhere: null,
      },
      errors: [missingRead("nowhere", EXPERIMENT_ROUTE)],
    });
  });

  test("a log is plain text, although the server calls it HTML", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{
      experiment(id: "alice.mnist.1") { logs { text contentType hasMore startByte } }
      job(id: "alice.mnist.jobs.1") { logs(tailLines: 2) { lines hasMore startByte } }
    }`);
    const jobLog = lineOf(recordedReads, "job logs done").text ?? "";
    expect(sortedOutcomeOf(answer)).toEqual({
      data: {
        experiment: {
          logs: {
            text: lineOf(recordedReads, "experiment logs done").text,
            contentType: "text/html; charset=utf-8",
            hasMore: false,
            startByte: 0,
          },
        },
        job: {
          logs: {
            lines: [3, 4].map((n) => `2026-03-01T09:0${n}:00.000000Z line ${n} of alice.mnist.jobs.1`),
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
