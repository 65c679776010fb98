import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type Change, CriticalityLevel, diff } from "@graphql-inspector/core";
import {
  buildASTSchema,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  parse,
} from "graphql";

/*
 * Protects clients from unannounced changes. Compares the committed schema, and the names of settings, codes, metrics and exports, with
 * the last release. The changelog must name each breaking change, and each deprecation must name a day that leaves enough notice.
 * `npm run check:schema`
 */

/** The schema of the subgraph: all that clients see, and the keys on which other subgraphs rely. */
const SCHEMA = "schema/subgraph.graphql";

/**
 * The subgraph of the last release, behind a line `# <version>`. Written by the release: tags are missing in shallow clones and
 * archives. Where there is the tag, both must agree.
 */
const RELEASED = "schema/released.graphql";

const CHANGELOG = "CHANGELOG.md";

/** The names of the last release, a line each. Written by the release: `npm run --silent check:schema -- --names`. */
const RELEASED_NAMES = "schema/released-names.txt";

/** Where the names stand on which others rely: settings, codes of errors, metrics with their labels, exports of the package. */
const NAMES: readonly (readonly [path: string, name: RegExp])[] = [
  ["docs/settings.md", /^\| `([A-Z_]+)` \|/gm],
  ["docs/errors.md", /^\| `([A-Z_]+)` \| \d/gm],
  ["docs/monitoring.md", /^\| `(rungraph_\w+)` \| \w+ \|(.*?) \|/gm],
  ["src/index.ts", /^export (?:async function |interface |type )(?:\{ )?(\w+)/gm],
];

/** Least time between a deprecation and the removal, in days. */
const NOTICE_DAYS = 90;

/** "Use `buildJob`. Removed after 2027-06-30." */
const REASON = /^\S.*\. Removed after (\d{4}-\d{2}-\d{2})\.$/s;

const git = (...args: string[]): string | null => {
  try {
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
};

const schemaOf = (text: string): GraphQLSchema => buildASTSchema(parse(text), { assumeValidSDL: true });

/** Reasons of all deprecations, by coordinate: `Experiment.status`, `RunStatus.OTHER`, `Run.logs.after`. */
function deprecations(schema: GraphQLSchema): Map<string, string> {
  const found = new Map<string, string>();
  const look = (
    coordinate: string,
    { deprecationReason: reason }: { deprecationReason?: string | null | undefined },
  ) => {
    if (reason != null) found.set(coordinate, reason);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (isEnumType(type)) for (const value of type.getValues()) look(`${type.name}.${value.name}`, value);
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) look(`${type.name}.${field.name}`, field);
    }
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      look(`${type.name}.${field.name}`, field);
      for (const arg of field.args) look(`${type.name}.${field.name}.${arg.name}`, arg);
    }
  }
  return found;
}

/** The day from which a deprecated member may be removed; null when its reason names none. */
const dayOf = (reason: string): string | null => {
  const day = REASON.exec(reason)?.[1];
  return day !== undefined && !Number.isNaN(Date.parse(day)) ? day : null;
};

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Faults of the deprecations: a reason without a day, or a day that leaves clients too little notice. */
function issuesOf(now: Map<string, string>, before: Map<string, string>): string[] {
  return [...now].flatMap(([coordinate, reason]) => {
    const day = dayOf(reason);
    if (day === null) {
      return [
        `${coordinate}: expected a reason such as "Use \`x\`. Removed after 2027-06-30.", got ${JSON.stringify(reason)}`,
      ];
    }
    if (!before.has(coordinate) && day < inDays(NOTICE_DAYS)) {
      return [`${coordinate}: expected at least ${NOTICE_DAYS} days of notice, got a removal after ${day}`];
    }
    return [];
  });
}

type Verdict = "breaking" | "dangerous" | "announced";

/** The impact of a change on clients and on other subgraphs; null when there is none. */
function verdictOn({ criticality, type, path }: Change, announced: Map<string, string>): Verdict | null {
  // A removed key breaks the subgraphs that refer by it. A value that may now be null breaks the clients that rely on it.
  if (type.startsWith("DIRECTIVE_USAGE"))
    return type.endsWith("REMOVED") && /@(?:key|semanticNonNull)$/.test(path ?? "") ? "breaking" : null;
  if (criticality.level === CriticalityLevel.Dangerous) return "dangerous";
  if (criticality.level !== CriticalityLevel.Breaking) return null;
  const day = dayOf(announced.get(path ?? "") ?? "");
  return type.endsWith("REMOVED") && day !== null && day < inDays(0) ? "announced" : "breaking";
}

/** `rungraph_operations_total type, code` */
const names = (): string[] =>
  NAMES.flatMap(([path, pattern]) =>
    [...readFileSync(path, "utf8").matchAll(pattern)].map(([, name, labels = ""]) =>
      (name + labels).replaceAll("`", "").trimEnd(),
    ),
  );

/** The names of the last release that are gone, or whose labels are others. */
function goneNames(): string[] {
  if (!existsSync(RELEASED_NAMES)) return [];
  const now = new Set(names());
  const before = readFileSync(RELEASED_NAMES, "utf8").trim().split("\n");
  return before.filter((name) => !now.has(name)).map((name) => name.replace(/ .*/, ""));
}

interface Release {
  readonly version: string;
  readonly sdl: string;
}

/** The last release; null before the first one. */
function readRelease(): Release | null {
  if (!existsSync(RELEASED)) return null;
  const [, version, sdl] = /^# (\S+)\n([^]+)$/.exec(readFileSync(RELEASED, "utf8")) ?? [];
  if (version === undefined || sdl === undefined)
    throw new TypeError(`${RELEASED}: expected "# <version>" first`);
  return { version, sdl };
}

/** Reports a schema file that differs from the one at the tag of its release. */
function faultsOfFile({ version, sdl }: Release): string[] {
  const tagged = git("show", `v${version}:${SCHEMA}`);
  return tagged === null || tagged === sdl.trim()
    ? []
    : [`${RELEASED}: expected the subgraph of the tag v${version}, got another`];
}

/** Changelog entries about changes and removals after a release. Additions and fixes break no client. */
function changesSince(version: string): string {
  const text = existsSync(CHANGELOG) ? readFileSync(CHANGELOG, "utf8") : "";
  const [since = ""] = text.split(`\n## [${version}]`, 1);
  return since
    .split(/^(?=##)/m)
    .filter((section) => /^### (?:Changed|Removed|From [\d.]+ to [\d.]+)\n/.test(section))
    .join("");
}

/** The part of a version that a breaking change must raise: the major version, or the minor one before 1.0. `1`, `0.4` */
const generation = (version: string): string => /^v?(0\.\d+|\d+)/.exec(version)?.[1] ?? "";

async function main(): Promise<readonly string[]> {
  const now = schemaOf(readFileSync(SCHEMA, "utf8"));
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const release = readRelease();
  if (!release) {
    say("No release to compare the schema with.");
    return issuesOf(deprecations(now), new Map());
  }
  const before = schemaOf(release.sdl);
  const announced = deprecations(before);
  const verdicts = (await diff(before, now)).flatMap((change) => {
    const verdict = verdictOn(change, announced);
    return verdict ? [{ verdict, change }] : [];
  });
  const gone = goneNames();
  say(`Since ${release.version}: ${verdicts.length + gone.length || "nothing"} that could break a client`);
  for (const { verdict, change } of verdicts) say(`  ${verdict}  ${change.path}: ${change.message}`);
  for (const name of gone) say(`  breaking  ${name}: is gone, or has other labels`);
  const changelog = changesSince(release.version);
  const broken = [
    ...verdicts.flatMap(({ verdict, change }) => (verdict === "breaking" ? `${change.path}` : [])),
    ...gone,
  ].map((name) => `\`${name}\``);
  const unnamed = [...new Set(broken)].filter((name) => !changelog.includes(name));
  // Between releases, package.json has the version of the last one.
  const isNext = version !== release.version;
  const [was, is] = [generation(release.version), generation(version)];
  return [
    ...faultsOfFile(release),
    ...issuesOf(deprecations(now), announced),
    ...unnamed.map(
      (name) =>
        `${CHANGELOG}: expected a line below Changed or Removed about ${name}, which breaks, got none`,
    ),
    ...(broken.length > 0 && isNext && was === is
      ? [`Breaking changes need the next version after ${was}, package.json says ${version}`]
      : []),
  ];
}

const say = (text: string) => process.stdout.write(`${text}\n`);

if (process.argv.includes("--names")) {
  say(names().join("\n"));
  process.exit();
}
const faults = await main();
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
