import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

/*
 * Releases a version: `npm run release -- 0.3.0`. Checks what it can, writes the version everywhere, tries the package in an
 * empty folder, commits and tags. With `--dry-run` it does the same but for the commit and the tag, and takes all back.
 */

/** Why there is no release. */
class Refusal extends Error {}

const say = (text: string) => process.stdout.write(`${text}\n`);

const run = (program: string, args: readonly string[], cwd = "."): string =>
  execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();

const git = (...args: string[]) => run("git", args);

const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, "utf8")));

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

/** Whether a version comes after another one. */
function isAfter(version: string, other: string): boolean {
  const [ours = [], theirs = []] = [version, other].map((text) => VERSION.exec(text)?.slice(1).map(Number));
  const at = ours.findIndex((number, index) => number !== theirs[index]);
  return (ours[at] ?? 0) > (theirs[at] ?? 0);
}

const UNRELEASED = /^## \[Unreleased\]\n([^]*?)(?=^## \[)/m;

function check(version: string, current: string): void {
  if (!VERSION.test(version)) throw new Refusal(`expected a version such as 0.3.0, got ${version || "none"}`);
  if (!isAfter(version, current)) throw new Refusal(`expected a version after ${current}, got ${version}`);
  if (git("status", "--porcelain") !== "") throw new Refusal("expected a clean working tree, got changes");
  if (git("tag", "--list", `v${version}`) !== "") throw new Refusal(`expected no tag v${version}, got one`);
  const [, changes = ""] = UNRELEASED.exec(readFileSync("CHANGELOG.md", "utf8")) ?? [];
  if (!/^- /m.test(changes))
    throw new Refusal("expected entries below [Unreleased] in CHANGELOG.md, got none");
}

/** Writes the version into the changelog, the package, and what deploys it. */
function write(version: string, current: string): void {
  const today = new Date().toISOString().slice(0, 10);
  edit("CHANGELOG.md", (text) =>
    text.replace("## [Unreleased]\n", `## [Unreleased]\n\n## [${version}] - ${today}\n`),
  );
  run("npm", ["version", version, "--no-git-tag-version"]);
  const whole = new RegExp(String.raw`(?<![\d.])${current.replaceAll(".", String.raw`\.`)}(?![\d.])`, "g");
  for (const path of git("ls-files", "Dockerfile", "deploy").split("\n"))
    edit(path, (text) => text.replace(whole, version));
}

/** Installs the packed gateway into an empty folder and asks it. */
function tryPackage(version: string): void {
  const folder = mkdtempSync(join(tmpdir(), "release-"));
  try {
    const file = run("npm", ["pack", "--silent", "--pack-destination", folder]).split("\n").at(-1) ?? "";
    const app = join(folder, "app");
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), "{}");
    run("npm", ["install", "--offline", "--no-audit", "--no-fund", resolve(folder, file)], app);
    const command = join(app, "node_modules/.bin/rungraph");
    const answer = run(command, ["--version"], app);
    if (answer !== version) throw new Refusal(`expected rungraph ${version} in the package, got ${answer}`);
    run(command, ["--check-config"], app);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function release(version: string, isDry: boolean): void {
  const { version: current } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  check(version, current);
  try {
    write(version, current);
    // Against the release before this one.
    say(run("npm", ["run", "--silent", "check:schema"]));
    edit("schema/released.graphql", () => `# ${version}\n${readFileSync("schema/subgraph.graphql", "utf8")}`);
    tryPackage(version);
    if (!isDry) git("commit", "--all", "--message", `Release ${version}`);
  } catch (error) {
    git("restore", ".");
    throw error;
  }
  if (isDry) {
    say(git("diff", "--stat"));
    git("restore", ".");
    return;
  }
  git("tag", "--annotate", `v${version}`, "--message", `Release ${version}`);
  say(`Released ${version}: commit and tag v${version}. Next: git push --follow-tags, npm publish`);
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { "dry-run": { type: "boolean", default: false } },
  });
  release(positionals[0] ?? "", values["dry-run"]);
} catch (error) {
  // A command that failed has said why.
  const isExplained = error instanceof Error && "stderr" in error;
  if (!isExplained && !(error instanceof Refusal || error instanceof TypeError)) throw error;
  process.stderr.write(isExplained ? "Not released.\n" : `Not released: ${error.message}\n`);
  process.exitCode = 1;
}
