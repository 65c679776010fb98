import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fileWith } from "../support/build.ts";
import { HAS_LINTER, LINTER } from "../support/linter.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONFIG = join(ROOT, "tools/linear/oxlintrc.json");

/**
 * Most of them are from 1.0.0: the search starts again after a word or a character, or two parts of the expression match the same digits.
 */
const QUADRATIC = [
  String.raw`/((?:cannot represent|Expected|expected) [^:{["]*): *["{[].*$/s`,
  String.raw`/(got invalid value) (.*)(; [A-Z].*)$/s`,
  String.raw`/\s*Did you mean .*?\?/g`,
  String.raw`/\/+$/`,
  String.raw`/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i`,
  String.raw`/^ {4}at .*?([^\s()]+:\d+:\d+)\)?$/`,
];
const LINEAR = [
  String.raw`/^\s*gzip\b/`,
  String.raw`/(?<!\/)\/+$/`,
  String.raw`/\?.*$/s`,
  String.raw`/[^\w.-]/g`,
];
const AT_RUN_TIME = "new RegExp(process.argv.join())";
const EXCEPTION = "// oxlint-disable-next-line linear/regexp -- a short text";

interface Report {
  readonly diagnostics: readonly { readonly message: string }[];
}

test.skipIf(!HAS_LINTER)(
  "rejects non-linear or run-time regular expressions unless a comment justifies them",
  () => {
    const listed = (expressions: readonly string[]) => `export const found = [\n${expressions.join(",\n")}];`;
    const code = `${listed([...QUADRATIC, ...LINEAR, AT_RUN_TIME])}\n${EXCEPTION}\nexport const kept = ${AT_RUN_TIME};`;
    const file = fileWith(code, "expressions.ts");
    const args = ["--config", CONFIG, "--format", "json", file];
    const { stdout, status } = spawnSync(process.execPath, [LINTER, ...args], { encoding: "utf8" });
    expect(status).toBe(1);
    // Safe: its reports have this format.
    const { diagnostics } = JSON.parse(stdout) as Report;
    const expected = "Expected an expression that is linear in its text, got";
    expect(diagnostics.map(({ message }) => message)).toEqual([
      ...QUADRATIC.map(() => expect.stringContaining(`${expected} 2nd degree polynomial for `)),
      `${expected} one that is only known at run time.`,
    ]);
  },
);
