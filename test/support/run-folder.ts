import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** Creates a folder for all files that the tests of a run write, including a build. It is removed after the run. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "tests-"));
  // The test processes inherit this variable.
  process.env["TMPDIR"] = folder;
  const built = join(folder, "built");
  mkdirSync(built);
  provide("builtFolder", built);
  return () => rmSync(folder, { recursive: true, force: true });
}
