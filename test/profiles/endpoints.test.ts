import { describe, expect, test } from "vitest";

import { errorsOf } from "../support/errors.ts";

import { POLYAXON, startProfile } from "../support/profiles.ts";

describe("rows that a profile spells differently", () => {
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
