import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Files and folders of which the package is made. */
const SOURCES = [
  "build-types.ts",
  "build.ts",
  "CHANGELOG.md",
  "demo",
  "docs",
  "LICENSE",
  "licenses",
  "package.json",
  "README.md",
  "schema",
  "src",
];

/** A folder that is removed behind the run. */
export const createFolder = (prefix: string): string => mkdtempSync(join(tmpdir(), prefix));

/** Copies what the package is made of, and `more`, into a folder, with all packages installed. */
export function copySources(folder: string, more: readonly string[] = []): void {
  for (const path of [...SOURCES, ...more]) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

/** Runs npm without the settings of the npm that runs the tests. */
const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("npm", args, {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Builds and packs the gateway in a folder by `npm pack`. */
export function buildGateway(folder: string): void {
  copySources(folder);
  writeFileSync(join(folder, "packed.json"), npm(folder, "pack", "--json", "--silent"));
}

/** Installs the package that was packed in a folder into an empty one, without a network. */
export function installPackage(built: string) {
  const [packed] = JSON.parse(readFileSync(join(built, "packed.json"), "utf8")) as [
    {
      readonly filename: string;
      /** In bytes. */
      readonly size: number;
      readonly files: readonly { readonly path: string }[];
    },
  ];
  const app = createFolder("installed-");
  writeFileSync(join(app, "package.json"), "{}");
  npm(app, "install", "--offline", "--no-audit", "--no-fund", join(built, packed.filename));
  return { app, packed };
}
