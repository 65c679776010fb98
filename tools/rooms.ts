import { readdirSync, readFileSync } from "node:fs";
import { SETTINGS } from "../src/config.ts";

const ROOT = new URL("../", import.meta.url);

/** What each part of the repository may hold at most: lines with comments, or what its name says. They only become less, but where an issue asks for more. */
const LIMITS = {
  graphql: 6_005,
  http: 3_681,
  engine: 3_205,
  "rest/api": 2_328,
  "rest/client": 1_979,
  "rest/session": 1_474,
  observability: 910,
  config: 488,
  live: 638,
  "ground and top": 1_792,
  "redis, workers, reload": 0,
  src: 22_500,
  demo: 3_590,
  test: 26_000,
  docs: 3_277,
  settings: 42,
  "files of src": 164,
  "run-time packages": 22,
};

/** Folders that are not counted, and would take long to look through. */
const LEFT_OUT = new Set(["ecosystem", "generated", "node_modules", "nodes"]);

/** The files below a path, or at it, whose names end so. */
function filesAt(path: string, ending: string): string[] {
  if (path.endsWith(ending)) return [path];
  return readdirSync(new URL(path, ROOT), { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.has(name))
    .flatMap((entry) => {
      const below = `${path}/${entry.name}`;
      if (entry.isDirectory()) return filesAt(below, ending);
      return below.endsWith(ending) ? [below] : [];
    });
}

const linesOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + readFileSync(new URL(path, ROOT), "utf8").split("\n").length - 1, 0);

/** The rooms that are folders of `src`, by the paths that they hold; `config.ts` belongs to its folder. */
const FOLDERS: Readonly<Record<string, RegExp>> = {
  config: /^src\/config[./]/,
  "redis, workers, reload": /^src\/(?:redis\/|workers\/|reload\.ts)/,
  "ground and top": /^src\/(?!config\.|reload\.)[^/]+$/,
};

/** The size of each room, and what it may be. */
export function measureRooms() {
  const src = filesAt("src", ".ts");
  const docs = ["docs", "CHANGELOG.md", "bench/RESULTS.md"].flatMap((path) => filesAt(path, ".md"));
  // Safe: it has dependencies.
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as {
    dependencies: object;
  };
  const others: Readonly<Record<string, number>> = {
    src: linesOf(src),
    demo: linesOf(filesAt("demo", ".ts")),
    test: linesOf(filesAt("test", ".ts")),
    docs: linesOf(docs),
    settings: SETTINGS.length,
    "files of src": src.length,
    "run-time packages": Object.keys(dependencies).length,
  };
  return Object.entries(LIMITS).map(([name, limit]) => {
    const holds = FOLDERS[name] ?? new RegExp(`^src/${name}/`);
    return { name, size: others[name] ?? linesOf(src.filter((path) => holds.test(path))), limit };
  });
}

if (process.argv[1] === import.meta.filename) {
  const rooms = measureRooms();
  for (const { name, size, limit } of rooms)
    process.stdout.write(
      `${name.padEnd(24)}${`${size}`.padStart(6)} of ${limit}${size > limit ? " exceeded" : ""}\n`,
    );
  process.exitCode = rooms.some(({ size, limit }) => size > limit) ? 1 : 0;
}
