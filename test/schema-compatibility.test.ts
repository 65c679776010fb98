import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder } from "./support/build.ts";
import { TYPESCRIPT } from "./support/typescript.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const committed = readFileSync(join(ROOT, "schema/subgraph.graphql"), "utf8");

const script = join(ROOT, "schema/compatibility.ts");

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** The schema with one more field on `PageInfo`. */
const withField = (field: string) =>
  committed.replace("  hasNextPage: Boolean!\n", `  hasNextPage: Boolean!\n\n  ${field}\n`);

interface Repository {
  /** The schema of version 1.0.0. */
  readonly released?: string;
  /** The schema of its tag; null if there is none. */
  readonly tagged?: string | null;
  readonly now: string;
  readonly version?: string;
  /** The changelog's section for the unreleased version. */
  readonly changes?: string;
  /** Additional files of the repository. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Runs the check in a repository that released one schema and now has another. */
function check({
  released,
  tagged = released ?? null,
  now,
  version = "1.0.1",
  changes = "",
  files = {},
}: Repository) {
  const folder = createFolder("rungraph-");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@example.com", ...args], {
      cwd: folder,
      stdio: "ignore",
    });
  const write = (sdl: string) => {
    mkdirSync(join(folder, "schema"), { recursive: true });
    writeFileSync(join(folder, "schema/subgraph.graphql"), sdl);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ version }));
    writeFileSync(
      join(folder, "CHANGELOG.md"),
      `## [Unreleased]\n\n${changes}\n\n## [1.0.0]\n\n- \`User.@key\`, old\n`,
    );
  };
  if (tagged !== null) {
    git("init");
    write(tagged);
    git("add", ".");
    git("commit", "-m", "released");
    git("tag", "v1.0.0");
  }
  write(now);
  if (released !== undefined) writeFileSync(join(folder, "schema/released.graphql"), `# 1.0.0\n${released}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [...TYPESCRIPT, script], {
    cwd: folder,
    encoding: "utf8",
  });
  return {
    passes: status === 0,
    notes: stdout.trim().split("\n"),
    problems: stderr.trim().split("\n").filter(Boolean),
  };
}

const NOTHING = "Since 1.0.0: nothing that could break a client";
const ADDED = withField("pageNumber: Int");
const ANOTHER = "schema/released.graphql: expected the subgraph of the tag v1.0.0, got another";

test.each<[string, Repository, string, string?]>([
  ["without a release", { now: committed }, "No release to compare the schema with."],
  ["in a clone without tags", { released: committed, tagged: null, now: ADDED }, NOTHING],
  ["with another schema in the tag", { released: ADDED, tagged: committed, now: ADDED }, NOTHING, ANOTHER],
  ["after an addition", { released: committed, now: ADDED }, NOTHING],
])("compares the schema with the latest release: %s", (_, repository, notes, problem) => {
  expect(check(repository)).toEqual({ passes: !problem, notes: [notes], problems: problem ? [problem] : [] });
});

test("reports fields, keys and inputs that were narrowed or removed", () => {
  const now = committed
    .replace("  hasNextPage: Boolean!", "  hasNextPage: Boolean")
    .replace(' @key(fields: "username")', "")
    .replace(/ {2}"""Login name."""\n {2}username: String!\n/, "");
  const { passes, notes, problems } = check({ released: committed, now });
  expect(passes).toBe(false);
  expect(notes).toEqual([
    "Since 1.0.0: 3 that could break a client",
    expect.stringMatching(/^ {2}breaking {2}LoginInput\.username: /),
    expect.stringMatching(/^ {2}breaking {2}PageInfo\.hasNextPage: /),
    expect.stringMatching(/^ {2}breaking {2}User\.@key: /),
  ]);
  const unnamed = ["LoginInput.username", "PageInfo.hasNextPage", "User.@key"].map(
    (name) =>
      `CHANGELOG.md: expected a line below Changed or Removed about \`${name}\`, which breaks, got none`,
  );
  expect(problems).toEqual([
    ...unnamed,
    "Breaking changes need the next version after 1, package.json says 1.0.1",
  ]);
  const line = "- `LoginInput.username` is gone, `PageInfo.hasNextPage` can be null, `User.@key` is its id.";
  const repository = { released: committed, now, changes: `### Changed\n\n${line}` };
  const praised = check({ ...repository, changes: `### Added\n\n${line}\n\n### Fixed\n\n${line}` });
  expect(praised.problems).toEqual(problems);
  expect(check(repository).problems).toEqual(problems.slice(-1));
  for (const version of ["1.0.0", "2.0.0"])
    expect(check({ ...repository, version })).toMatchObject({ passes: true, problems: [] });
});

test("reports removed settings, codes, metrics and exports, and changed metric labels", () => {
  const names = ["PORT", "FORBIDDEN", "rungraph_downloads_total what, code", "createGateway"];
  const kept = ["HOST", "NOT_FOUND", "rungraph_circuit_open", "Log"];
  const lines = "| `HOST` | x |\n| `NOT_FOUND` | 404 |\n| `rungraph_circuit_open` | gauge |  |\n";
  const files = {
    "schema/released-names.txt": `${[...names, ...kept].join("\n")}\n`,
    "docs/settings.md": lines,
    "docs/errors.md": lines,
    "docs/monitoring.md": `${lines}| \`rungraph_downloads_total\` | counter | \`what\` |\n`,
    "src/index.ts": 'export type { Log } from "./log.ts";\n',
  };
  const { notes, problems } = check({ released: committed, now: committed, files });
  const gone = ["PORT", "FORBIDDEN", "rungraph_downloads_total", "createGateway"];
  expect(notes).toEqual([
    "Since 1.0.0: 4 that could break a client",
    ...gone.map((name) => `  breaking  ${name}: is gone, or has other labels`),
  ]);
  expect(problems).toHaveLength(5);
  const changes = `### Removed\n\n${gone.map((name) => `- \`${name}\``).join("\n")}`;
  expect(check({ released: committed, now: committed, files, changes, version: "2.0.0" }).problems).toEqual(
    [],
  );
});

test("a deprecation must name a replacement and the day of removal", () => {
  const reasons = {
    good: `Use \`pageNumber\`. Removed after ${inDays(120)}.`,
    noDay: "Use `pageNumber`.",
    oddDay: "Use `pageNumber`. Removed after 2027-02-31-1.",
    soon: `Use \`pageNumber\`. Removed after ${inDays(80)}.`,
  };
  const fields = Object.entries(reasons).map(
    ([name, reason]) => `${name}: Int @deprecated(reason: "${reason}")`,
  );
  const { passes, problems } = check({ now: withField(fields.join("\n\n  ")) });
  expect(passes).toBe(false);
  expect(problems.toSorted()).toEqual([
    'PageInfo.noDay: expected a reason such as "Use `x`. Removed after 2027-06-30.", got "Use `pageNumber`."',
    expect.stringMatching(/^PageInfo\.oddDay: expected a reason/),
    `PageInfo.soon: expected at least 90 days of notice, got a removal after ${inDays(80)}`,
  ]);
});

test("a deprecated field may be removed after its announced day, not before", () => {
  const released = (day: string) =>
    withField(`page: Int @deprecated(reason: "Use \`pageNumber\`. Removed after ${day}.")`);
  expect(check({ released: released(inDays(-1)), now: committed })).toEqual({
    passes: true,
    notes: [
      "Since 1.0.0: 1 that could break a client",
      expect.stringMatching(/^ {2}announced {2}PageInfo\.page: /),
    ],
    problems: [],
  });
  expect(check({ released: released(inDays(10)), now: committed })).toMatchObject({ passes: false });
  // The deprecation was announced long ago: the notice period does not start again.
  expect(check({ released: released(inDays(10)), now: released(inDays(10)) })).toMatchObject({
    passes: true,
  });
});
