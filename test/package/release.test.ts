import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { copySources, createFolder } from "../support/build.ts";
import { BUILT } from "../support/built.ts";
import { bundle } from "../support/bundle.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { version: current } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
};

const folder = createFolder("release-");
copySources(folder, ["deploy", "Dockerfile", "package-lock.json", "release.ts"]);
const script = await bundle("release.ts", join(createFolder("script-"), "release.mjs"));
const path = (name: string) => join(folder, name);
const read = (name: string) => readFileSync(path(name), "utf8");
const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();

const AUTHOR = { name: "x", email: "x@example.com" };

// A repository with one commit, and something that is unreleased.
git("init", "--quiet");
for (const [key, value] of Object.entries(AUTHOR)) git("config", `user.${key}`, value);
writeFileSync(path(".git/info/exclude"), "node_modules\ndist\n");
// That packing builds, the build of the tests shows: see test/support/build.ts.
cpSync(join(BUILT, "dist"), path("dist"), { recursive: true });
writeFileSync(path("package.json"), read("package.json").replace(/^ *"prepack": .*\n/m, ""));
writeFileSync(
  path("CHANGELOG.md"),
  `# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Something.\n\n## [${current}] - 2026-01-01\n`,
);
writeFileSync(path("schema/released.graphql"), `# ${current}\n${read("schema/subgraph.graphql")}`);
git("add", ".");
git("commit", "--quiet", "--message", "before");
const before = git("rev-parse", "HEAD");

beforeEach(() => {
  git("reset", "--quiet", "--hard", before);
  for (const tag of git("tag").split("\n").filter(Boolean)) git("tag", "--delete", tag);
});

function release(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
  });
  return { code: status, out: stdout, err: stderr };
}

const versionOf = (name: string) => (JSON.parse(read(name)) as { version: string }).version;

test("a release has its version everywhere, its schema, a commit and a tag", () => {
  const { code, out } = release("9.9.0");
  expect(code).toBe(0);
  expect(out).toContain(`Since ${current}: nothing that could break a client`);
  const today = new Date().toISOString().slice(0, 10);
  expect(read("CHANGELOG.md")).toBe(
    `# Changelog\n\n## [Unreleased]\n\n## [9.9.0] - ${today}\n\n### Added\n\n- Something.\n\n## [${current}] - 2026-01-01\n`,
  );
  expect([versionOf("package.json"), versionOf("package-lock.json")]).toEqual(["9.9.0", "9.9.0"]);
  const deployed = git("grep", "-h", "-e", "rungraph:", "--", "deploy");
  expect(deployed).toContain("rungraph:9.9.0");
  expect(deployed).not.toContain(`rungraph:${current}`);
  expect(read("schema/released.graphql")).toBe(`# 9.9.0\n${read("schema/subgraph.graphql")}`);
  expect(git("log", "-1", "--format=%s %D")).toMatch(/^Release 9\.9\.0 HEAD -> \w+, tag: v9\.9\.0$/);
  expect(git("status", "--porcelain")).toBe("");
  // From now on it is what the next one is compared with.
  expect(release("9.9.0").err).toBe("Not released: expected a version after 9.9.0, got 9.9.0\n");
});

test("a trial run leaves no trace", () => {
  const { code, out } = release("9.9.0", "--dry-run");
  expect(code).toBe(0);
  for (const name of ["CHANGELOG.md", "package.json", "schema/released.graphql", "deploy/"])
    expect(out).toContain(name);
  expect(git("status", "--porcelain")).toBe("");
  expect(git("log", "--format=%s")).toBe("before");
  expect(git("tag")).toBe("");
});

test("a breaking change that the changelog does not name stops the release, and leaves no trace", () => {
  appendFileSync(path("schema/released.graphql"), "\ntype Gone {\n  a: Int\n}\n");
  git("commit", "--quiet", "--all", "--message", "a type that is gone");
  const { code, err } = release("9.9.0");
  expect(code).toBe(1);
  expect(err).toContain(
    "CHANGELOG.md: expected a line below Changed or Removed about `Gone`, which breaks, got none\nNot released.\n",
  );
  expect(git("status", "--porcelain")).toBe("");
  expect(git("tag")).toBe("");
});

test.each([
  { what: "no version", act: () => {}, args: [], err: "expected a version such as 0.3.0, got none" },
  {
    what: "an older version",
    act: () => {},
    args: ["0.0.9"],
    err: `expected a version after ${current}, got 0.0.9`,
  },
  {
    what: "changes that are not committed",
    act: () => appendFileSync(path("README.md"), "x"),
    args: ["9.9.0"],
    err: "expected a clean working tree, got changes",
  },
  {
    what: "a tag that exists",
    act: () => git("tag", "v9.9.0"),
    args: ["9.9.0"],
    err: "expected no tag v9.9.0, got one",
  },
  {
    what: "nothing that is unreleased",
    act: () => {
      writeFileSync(path("CHANGELOG.md"), `## [Unreleased]\n\n## [${current}]\n\n- Something.\n`);
      git("commit", "--quiet", "--all", "--message", "nothing");
    },
    args: ["9.9.0"],
    err: "expected entries below [Unreleased] in CHANGELOG.md, got none",
  },
])("there is no release with $what", ({ act, args, err }) => {
  act();
  expect(release(...args)).toEqual({ code: 1, out: "", err: `Not released: ${err}\n` });
  expect(git("log", "--format=%s")).not.toContain("Release");
});
