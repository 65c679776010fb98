import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { POLYAXON, startProfile } from "../support/profiles.ts";

describe("endpoints differ by profile:", () => {
  test.each([
    ["document", "outputs"],
    ["polyaxon-0.2", "outputs"],
    ["polyaxon-0.4", "outputs/download"],
  ] as const)("with %s, the outputs of a job are at %s", async (profile, path) => {
    const { url, calls, demo } = await startProfile(profile);
    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const { status } = await fetch(`${url}/downloads/${globalId("Job:ada/mnist/1")}/outputs`, { headers });
    expect([status, calls()]).toEqual([200, [`GET ada/mnist/jobs/1/${path}`]]);
  });

  test.each([
    ["document", "DELETE"],
    ["polyaxon-0.2", "POST"],
    ["polyaxon-0.4", "POST"],
  ] as const)("with %s, the superuser role is revoked by %s", async (profile, method) => {
    const { ask, calls } = await startProfile(profile);
    expect(await ask(`mutation { revokeSuperuser(username: "grace") { __typename } }`)).toEqual({
      data: { revokeSuperuser: { __typename: "UserPayload" } },
    });
    expect(calls()).toEqual([`${method} superusers/revoke/grace/`]);
  });

  test.each(POLYAXON)("with %s, resuming or copying jobs sends nothing and is an error", async (profile) => {
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
        message: `${verb}Job: The server behind this gateway does not offer POST {owner}/{project}/jobs/{id}/${verb}: it lacks the capability \`JOB_${verb.toUpperCase()}\`.`,
      })),
    );
    expect(calls()).toEqual(["POST ada/mnist/jobs/1/restart"]);
  });
});
