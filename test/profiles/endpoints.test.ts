import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { POLYAXON, startProfile } from "../support/profiles.ts";

describe("rows that a profile spells differently", () => {
  test.each([
    ["document", "experiment", "experiments/42/outputs"],
    ["document", "job", "jobs/1/outputs"],
    ["polyaxon-0.2", "experiment", "experiments/42/outputs"],
    ["polyaxon-0.2", "job", "jobs/1/outputs"],
    ["polyaxon-0.4", "experiment", "experiments/42/outputs/download"],
    ["polyaxon-0.4", "job", "jobs/1/outputs/download"],
  ] as const)("with %s the outputs of the %s are at %s", async (profile, kind, path) => {
    const { ask, calls, demo } = await startProfile(profile);
    const id = { experiment: "ada.mnist.42", job: "ada.mnist.jobs.1" }[kind];
    const { data } = await ask<{ run: { outputsUrl: string } }, object>(
      `{ run: ${kind}(id: "${id}") { outputsUrl } }`,
    );
    // The read that shows that the run is there.
    calls();
    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const download = await fetch(data.run.outputsUrl, { headers });
    const bytes = Buffer.from(await download.arrayBuffer());
    expect(download.status).toBe(200);
    // The first bytes of every gzip file.
    expect([...bytes.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    expect(calls()).toEqual([`GET ada/mnist/${path}`]);
  });

  test.each([
    ["document", "DELETE"],
    ["polyaxon-0.2", "POST"],
    ["polyaxon-0.4", "POST"],
  ] as const)("with %s the superuser role is taken away by %s", async (profile, method) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask(
      `mutation { revokeSuperuser(username: "grace") { user { username } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({ revokeSuperuser: { user: { username: "grace" } } });
    expect(calls()).toEqual([`${method} superusers/revoke/grace/`]);
  });

  test.each(POLYAXON)(
    "with %s jobs cannot be resumed or copied: nothing is sent, and it is said",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      const answer = await ask(`mutation {
      resumeJob(id: "ada.mnist.jobs.1") { job { id } }
      copyJob(id: "ada.mnist.jobs.1") { job { id } }
      restartJob(id: "ada.mnist.jobs.1") { job { id } }
    }`);
      expect(answer.data).toEqual({
        resumeJob: null,
        copyJob: null,
        restartJob: { job: { id: expect.any(String) } },
      });
      expect(errorsOf(answer)).toEqual(
        ["resume", "copy"].map((verb) => ({
          at: `${verb}Job`,
          code: "CAPABILITY_UNAVAILABLE",
          message: `${verb}Job: The server behind this gateway does not offer POST {owner}/{project}/jobs/{id}/${verb}.`,
        })),
      );
      expect(calls()).toEqual(["POST ada/mnist/jobs/1/restart"]);
    },
  );
});
