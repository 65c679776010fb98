import { describe, expect, test } from "vitest";
import { failure, sortedErrorsOf } from "../support/errors.ts";
import { CAPABILITIES, type ProfileName, startProfile } from "../support/profiles.ts";

describe("capabilities", () => {
  test.each(Object.keys(CAPABILITIES) as ProfileName[])(
    "of %s are told without a token and without a request",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      expect(await ask("{ gateway { capabilities } }", {}, { token: null })).toEqual({
        data: { gateway: { capabilities: CAPABILITIES[profile] } },
      });
      expect(calls()).toEqual([]);
    },
  );

  test("that are not there are null with an error, without a request; the rest of the answer is there", async () => {
    const { ask, calls } = await startProfile("document");
    const answer = await ask(`{
      project(id: "ada.mnist") {
        name
        jobs { totalCount }
        owner { username projects { totalCount } }
      }
      group(id: "ada.mnist.1") { name experiments { totalCount } }
      experimentJob(id: "ada.mnist.42.22.master") { role logs { text } }
    }`);
    expect(answer.data).toEqual({
      project: {
        name: "mnist",
        jobs: null,
        owner: { username: "ada", projects: null },
      },
      group: { name: "sweep", experiments: null },
      experimentJob: { role: "master", logs: null },
    });
    const lacking = (at: string, endpoint: string, capability = "LISTS") =>
      failure(
        at,
        "CAPABILITY_UNAVAILABLE",
        `${at.split(".").at(-1)}: The server behind this gateway does not offer GET ${endpoint}: it lacks the capability \`${capability}\`.`,
      );
    const logs = "{owner}/{project}/experiments/{experiment}/jobs/{id}/logs";
    expect(sortedErrorsOf(answer)).toEqual([
      lacking("experimentJob.logs", logs, "EXPERIMENT_JOB_LOGS"),
      lacking("group.experiments", "{owner}/{project}/experiments"),
      lacking("project.jobs", "{owner}/{project}/jobs"),
      lacking("project.owner.projects", "{owner}"),
    ]);
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/jobs/22/", "GET ada/mnist/groups/1/"]);
  });
});
