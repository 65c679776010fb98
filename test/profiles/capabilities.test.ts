import { expect, test } from "vitest";
import CAPABILITIES from "../support/capabilities.json" with { type: "json" };
import { type ProfileName, startProfile } from "../support/profiles.ts";

test.each(Object.keys(CAPABILITIES) as ProfileName[])(
  "capabilities of %s are told without a token and without a request",
  async (profile) => {
    const { ask, calls } = await startProfile(profile);
    expect(await ask("{ gateway { capabilities } }", {}, { token: null })).toEqual({
      data: { gateway: { capabilities: CAPABILITIES[profile] } },
    });
    expect(calls()).toEqual([]);
  },
);
