import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import CAPABILITIES from "../support/capabilities.json" with { type: "json" };
import { type ProfileName, startProfile } from "../support/profiles.ts";

test.each(Object.keys(CAPABILITIES) as ProfileName[])(
  "reports the capabilities of %s without a token or an upstream request",
  async (profile) => {
    const { ask, calls } = await startProfile(profile);
    expect(await ask("{ gateway { capabilities } }", {}, { token: null })).toEqual({
      data: { gateway: { capabilities: CAPABILITIES[profile] } },
    });
    expect(calls()).toEqual([]);
  },
);

test("lists all error codes without a token or an upstream request", async () => {
  const { ask, calls } = await startProfile("document");
  const { data } = await ask<{ gateway: { errorCodes: string[] } }, object>(
    "{ gateway { errorCodes } }" as never,
    {},
    { token: null },
  );
  const page = readFileSync("docs/errors.md", "utf8");
  const documented = [...page.matchAll(/^\| `([A-Z_]+)` \| \d{3} \|/gm)].map(([, code]) => code);
  expect(data.gateway.errorCodes).toEqual(documented);
  expect(documented).toContain("RATE_LIMITED");
  expect(calls()).toEqual([]);
});
