import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Holdings } from "../support/closed-gateways.ts";

const SCRIPT = fileURLToPath(new URL("../support/closed-gateways.ts", import.meta.url));

test("gateways that were closed leave no listener, timer or handle in their process, and no warning", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", "--import", "tsx", SCRIPT, "50"],
    // The cache of tsx writes files whenever it finds the time.
    { env: { PATH: process.env["PATH"], TSX_DISABLE_CACHE: "1" } },
  );
  const [first, last] = JSON.parse(stdout) as [Holdings, Holdings];
  expect(first.listeners).not.toEqual({});
  expect(last).toEqual(first);
  expect(stderr).toBe("");
});
