import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { startProgram } from "../support/main-process.ts";
import { writeFiles } from "../support/tls.ts";

/** What `rungraph --check-config` does with these variables. */
async function check(environment: Record<string, string>) {
  const program = [process.execPath, join(BUILT, "dist/src/cli.js"), "--check-config"];
  const { ended, out, err } = startProgram(program, environment, BUILT);
  return { code: await ended, out: out(), err: err().trimEnd().split("\n") };
}

describe("the check of the settings", () => {
  test("takes all that a start takes", async () => {
    const { headers } = writeFiles({ headers: '{"x-api-key": "canary"}\n' });
    expect(await check({ UPSTREAM_HEADERS_FILE: headers, CANARY: "canary" })).toEqual({
      code: 0,
      out: "ok\n",
      err: [""],
    });
  });

  test("tells names and values together, a line each", async () => {
    const environment = { MAX_DEPHT: "7", MAX_ALIASES: "7", PORT: "canary", CALLER_SALT_FILE: "/canary" };
    expect(await check(environment)).toEqual({
      code: 1,
      out: "",
      err: [
        "The settings cannot be used:",
        "MAX_DEPHT: unknown setting; see docs/settings.md",
        "MAX_ALIASES is gone since 0.4: it is fixed at 100",
        "CALLER_SALT_FILE: expected a file with CALLER_SALT, got one that cannot be read (ENOENT)",
        "PORT: expected a whole number from 0 to 65535",
      ],
    });
  });
});
