import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Files and folders from which the package is built. */
const SOURCES =
  "CHANGELOG.md demo docs LICENSE package.json README.md schema src tsconfig.build.json tsconfig.json tsconfig.types.json".split(
    " ",
  );

/** Creates a folder that is removed after the run. */
export const createFolder = (prefix: string): string => mkdtempSync(join(tmpdir(), prefix));

/** Creates a file with this content in its own folder. Returns its path. */
export function fileWith(text: string, name: string): string {
  const path = join(createFolder("file-"), name);
  writeFileSync(path, text);
  return path;
}

/** Creates a file with these trusted documents. */
export const manifest = (content: object) => fileWith(JSON.stringify(content), "documents.json");

/** Runs npm without the settings of the npm that runs the tests. */
const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("npm", args, {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Builds and packs the gateway in a folder with `npm pack`. All packages are installed there. */
export function buildGateway(folder: string): void {
  for (const path of SOURCES) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "packed.json"), npm(folder, "pack", "--json", "--silent"));
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>;
}

/** The names of the packages that are installed with the gateway and that no other package contains. */
const installedWith = (): string[] => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock;
  return Object.entries(packages).flatMap(([path, { dev = false, devOptional = false }]) => {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    return name === undefined || dev || devOptional ? [] : [name];
  });
};

/**
 * Installs the packed package into an empty folder, with the packages that npm would install with it. These packages come from this
 * checkout, because a test has no registry.
 */
export function installPackage(built: string) {
  const [packed] = JSON.parse(readFileSync(join(built, "packed.json"), "utf8")) as [
    {
      readonly filename: string;
      /** Size of the package, in bytes. */
      readonly size: number;
      readonly files: readonly { readonly path: string }[];
    },
  ];
  const app = createFolder("installed-");
  const packages = join(app, "node_modules");
  writeFileSync(join(app, "package.json"), "{}");
  mkdirSync(join(packages, ".bin"), { recursive: true });
  execFileSync("tar", ["-xzf", join(built, packed.filename), "-C", packages]);
  renameSync(join(packages, "package"), join(packages, "rungraph"));
  for (const name of installedWith()) {
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  }
  const command = join(packages, "rungraph/dist/src/cli.js");
  chmodSync(command, 0o755);
  symlinkSync(command, join(packages, ".bin/rungraph"));
  return { app, packed };
}
