import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A file with this content, as long as the test runs. */
export function manifest(content: object): string {
  const folder = mkdtempSync(join(tmpdir(), "rungraph-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "documents.json");
  writeFileSync(path, JSON.stringify(content));
  return path;
}
