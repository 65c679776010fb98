import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { BUILT } from "../support/built.ts";
import type { ResourceCounts } from "../support/closed-gateways.ts";
import { TYPESCRIPT } from "../support/typescript.ts";

/** More than the ten listeners of one event after which Node.js warns of a leak. */
const GATEWAYS = 12;

test("closed gateways leave no listener, timer, handle or warning in their process", async () => {
  const script = fileURLToPath(new URL("../support/closed-gateways.ts", import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", ...TYPESCRIPT, script, join(BUILT, "dist/src/index.js"), `${GATEWAYS}`],
    { env: { PATH: process.env["PATH"], TMPDIR: tmpdir() } },
  );
  const [first, last] = JSON.parse(stdout) as [ResourceCounts, ResourceCounts];
  expect(first.listeners).not.toEqual({});
  expect(last.listeners).toEqual(first.listeners);
  // The first measurement may include a timer that has ended since.
  const grown = Object.entries(last.resources).filter(
    ([kind, count]) => count > (first.resources[kind] ?? 0),
  );
  expect(grown).toEqual([]);
  expect(stderr).toBe("");
});
