import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** Gives a run a folder for all that its tests write, in it one for its build. It is removed behind the run. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "tests-"));
  // The processes of the tests begin with it.
  process.env["TMPDIR"] = folder;
  const built = join(folder, "built");
  mkdirSync(built);
  provide("builtFolder", built);
  return () => rmSync(folder, { recursive: true, force: true });
}
