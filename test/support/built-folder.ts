import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder for the one build of a run, empty until a test needs it. */
    readonly builtFolder: string;
  }
}

/** Gives a run a folder for its build, which is removed behind it. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "built-"));
  provide("builtFolder", folder);
  return () => rmSync(folder, { recursive: true });
}
