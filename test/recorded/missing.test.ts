import { describe, expect, test } from "vitest";
import {
  BUILD_ROUTE,
  EXPERIMENT_ROUTE,
  GROUP_ROUTE,
  JOB_ROUTE,
  missingRead,
  refusedRead,
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
});
