import { describe, expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import {
  BUILD_ROUTE,
  EXPERIMENT_ROUTE,
  GROUP_ROUTE,
  JOB_ROUTE,
  missingRead,
  sortedOutcomeOf,
  startRecorded,
} from "../support/recorded-server.ts";

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
        missingRead("buildJob", BUILD_ROUTE, "alice.mnist.builds.999"),
        missingRead("elsewhere", EXPERIMENT_ROUTE, "alice.mnist.experiments.22"),
        missingRead("experiment", EXPERIMENT_ROUTE, "alice.mnist.experiments.9999"),
        missingRead(
          "experimentJob",
          "{owner}/{project}/experiments/{experiment}/jobs/{id}/",
          "alice.mnist.experiments.1.jobs.99",
        ),
        missingRead("group", GROUP_ROUTE, "alice.mnist.groups.999"),
        missingRead("job", JOB_ROUTE, "alice.mnist.jobs.999"),
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

  test("an HTML page for a name that the server does not match is a missing record", async () => {
    const { ask, calls } = await startRecorded();
    const answer = await ask(`{ experiment(id: "${globalId("Experiment:alice/mn.ist/1")}") { name } }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { experiment: null },
      errors: [missingRead("experiment", EXPERIMENT_ROUTE, "alice.mn.ist.experiments.1")],
    });
    expect(calls()).toEqual(["GET alice/mn.ist/experiments/1/"]);
  });
});
