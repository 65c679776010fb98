import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** Gives a run a folder for its build, which is removed behind it. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "built-"));
  provide("builtFolder", folder);
  return () => rmSync(folder, { recursive: true });
}
