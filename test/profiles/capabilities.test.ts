import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { errorsOf, failure, sortedErrorsOf } from "../support/errors.ts";
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

describe("the log of one job of an experiment", () => {
  const document = `{ experimentJob(id: "ada.mnist.42.22.master") { status logs(tailLines: 1) { lines } logsUrl } }`;
  interface Told {
    readonly experimentJob: { readonly status: string; readonly logs: unknown; readonly logsUrl: string };
  }

  test("is there on a server that has it, as a window and as a whole", async () => {
    const { ask, calls, demo } = await startProfile("polyaxon-0.4");
    const { data, errors } = await ask<Told, object>(document);
    expect(errors).toBeUndefined();
    expect(data.experimentJob).toMatchObject({
      status: "SUCCEEDED",
      logs: { lines: [expect.stringContaining("ada.mnist.42 succeeded")] },
    });
    const path = "ada/mnist/experiments/42/jobs/22/";
    expect(calls()).toEqual([`GET ${path}`, `GET ${path}logs`]);

    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const download = await fetch(data.experimentJob.logsUrl, { headers });
    expect(await download.text()).toContain("master on gpu-node.eu-1: epoch 1 ");
    expect(calls()).toEqual([`GET ${path}logs`]);
  });

  test.each<ProfileName>(["document", "polyaxon-0.2"])(
    "is not on %s, which is not asked for it",
    async (profile) => {
      const { ask, calls, demo } = await startProfile(profile);
      const answer = await ask<Told, object>(document);
      expect(answer.data.experimentJob).toMatchObject({ status: "SUCCEEDED", logs: null });
      expect(errorsOf(answer)).toMatchObject([{ at: "experimentJob.logs", code: "CAPABILITY_UNAVAILABLE" }]);
      expect(calls()).toEqual(["GET ada/mnist/experiments/42/jobs/22/"]);

      const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
      const download = await fetch(answer.data.experimentJob.logsUrl, { headers });
      expect(download.status).toBe(404);
      expect(await download.json()).toMatchObject({
        errors: [{ extensions: { code: "CAPABILITY_UNAVAILABLE" } }],
      });
      expect(calls()).toEqual([]);
    },
  );

  test("that has not begun is null, without an error", async () => {
    const { ask } = await startProfile("polyaxon-0.4");
    expect(
      await ask(`{ experiment(id: "ada.mnist.2.53") { jobs { nodes { status logs { text } } } } }`),
    ).toEqual({ data: { experiment: { jobs: { nodes: [{ status: "SCHEDULED", logs: null }] } } } });
  });
});
