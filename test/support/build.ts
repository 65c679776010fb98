import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Files and folders of which the package is made. */
const SOURCES = [
  "build-types.ts",
  "build.ts",
  "CHANGELOG.md",
  "docs",
  "LICENSE",
  "licenses",
  "package.json",
  "page",
  "README.md",
  "schema",
  "src",
];

/** A folder that is removed behind the tests of the file. */
export function createFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Copies what the package is made of, and `more`, into a folder, with all packages installed. */
export function copySources(folder: string, more: readonly string[] = []): void {
  for (const path of [...SOURCES, ...more]) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

/** Builds the gateway in a folder, as `npm run build` does. */
export function buildGateway(folder: string): void {
  copySources(folder);
  execFileSync(process.execPath, ["--import", "tsx", "build.ts"], { cwd: folder });
}

/** Runs npm without the settings of the npm that runs the tests. */
const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("npm", args, {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Packs the gateway by `npm pack` and installs it into an empty folder, without a network. */
export function installPackage() {
  const sources = createFolder("sources-");
  copySources(sources);
  const [packed] = JSON.parse(npm(sources, "pack", "--json", "--silent")) as [
    {
      readonly filename: string;
      /** In bytes. */
      readonly size: number;
      readonly files: readonly { readonly path: string }[];
    },
  ];
  const folder = createFolder("installed-");
  mkdirSync(join(folder, "app"));
  const app = join(folder, "app");
  npm(app, "init", "--yes");
  npm(app, "install", "--offline", "--no-audit", "--no-fund", join(sources, packed.filename));
  return { app, packed };
}
