import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { editPattern, type Protection, PROTECTIONS, titlePattern } from "./protections.ts";

/*
 * Breaks each protection in a copy of the repository and runs the test that must then fail: `npm run mutants`, or `npm run mutants --
 * drain` for the rows that contain a word. Exits with code 1 if a test passes.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const LEFT_OUT = new Set([".git", "node_modules", "dist"]);

const [, , word = ""] = process.argv;
const folder = mkdtempSync(join(tmpdir(), "mutants-"));
const report = join(folder, "report.json");

/** The timeout of a test, in milliseconds: without some protections the gateway never becomes idle. */
const TIME_OUT_MS = 180_000;

type Outcome = "red" | "GREEN" | "NOT RUN";

/** Runs the test of a row. */
async function outcomeOf({ file, title }: Protection["test"]): Promise<Outcome> {
  rmSync(report, { force: true });
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const named = [file, "--testNamePattern", titlePattern(title), "--project", process.version];
  const args = [vitest, "run", ...named, "--reporter", "json", "--outputFile", report];
  // Detached, so that its workers end with it.
  const run = spawn(process.execPath, args, { cwd: folder, stdio: "ignore", detached: true });
  const timer = setTimeout(() => process.kill(-(run.pid ?? 0), "SIGKILL"), TIME_OUT_MS);
  const [, signal] = (await once(run, "exit")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  if (signal === "SIGKILL") return "red";
  // If the file cannot be loaded, there is no report.
  if (!existsSync(report)) return "NOT RUN";
  // Safe: the reporter writes this format.
  const counts = JSON.parse(readFileSync(report, "utf8")) as Record<
    "numFailedTests" | "numPassedTests",
    number
  >;
  if (counts.numFailedTests > 0) return "red";
  return counts.numPassedTests > 0 ? "GREEN" : "NOT RUN";
}

async function isRed(row: Protection): Promise<boolean> {
  const { protects, test, edit } = row;
  const file = join(folder, edit.file);
  const text = readFileSync(file, "utf8");
  // The replacement may contain `$`.
  writeFileSync(
    file,
    text.replaceAll(editPattern(row), () => edit.to),
  );
  const outcome = await outcomeOf(test);
  writeFileSync(file, text);
  process.stdout.write(`${outcome.padEnd(8)}${protects}\n`);
  return outcome === "red";
}

try {
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const rows = PROTECTIONS.filter((row) => JSON.stringify(row).includes(word));
  let red = 0;
  for (const row of rows) if (await isRed(row)) red++;
  process.stdout.write(`${red} of ${rows.length} red\n`);
  process.exitCode = red < rows.length ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}
