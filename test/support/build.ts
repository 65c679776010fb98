import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Builds the gateway in a folder of its own, as `npm run build` does, and gives the folder. */
export function buildGateway(): string {
  const folder = mkdtempSync(join(tmpdir(), "build-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  for (const path of ["package.json", "page", "schema", "src"]) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  execFileSync(process.execPath, ["--import", "tsx", join(ROOT, "build.ts")], { cwd: folder });
  return folder;
}
