import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createFolder } from "../support/build.ts";
import { BUILT } from "../support/built.ts";
import { bundle } from "../support/bundle.ts";
import type { Holdings } from "../support/closed-gateways.ts";

/** More than the ten listeners of one event that Node takes for no leak. */
const GATEWAYS = 12;

test("gateways that were closed leave no listener, timer or handle in their process, and no warning", async () => {
  const script = await bundle("test/support/closed-gateways.ts", join(createFolder("closed-"), "closed.mjs"));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", script, join(BUILT, "dist/index.js"), `${GATEWAYS}`],
    { env: { PATH: process.env["PATH"], TMPDIR: tmpdir() } },
  );
  const [first, last] = JSON.parse(stdout) as [Holdings, Holdings];
  expect(first.listeners).not.toEqual({});
  expect(last.listeners).toEqual(first.listeners);
  // A timer of the first one may still have been there, which is over by now.
  const grown = Object.entries(last.resources).filter(
    ([kind, count]) => count > (first.resources[kind] ?? 0),
  );
  expect(grown).toEqual([]);
  expect(stderr).toBe("");
});
