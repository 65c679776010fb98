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
  "package.json",
  "page",
  "README.md",
  "schema",
  "src",
];

/** A folder that is removed behind the tests of the file. */
function createFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Copies what the package is made of, and `more`, into a folder of its own, with all packages installed. */
export function copySources(more: readonly string[] = []): string {
  const folder = createFolder("build-");
  for (const path of [...SOURCES, ...more]) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Builds the gateway in a folder of its own, as `npm run build` does, and gives the folder. */
export function buildGateway(): string {
  const folder = copySources();
  execFileSync(process.execPath, ["--import", "tsx", "build.ts"], { cwd: folder });
  return folder;
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
  const sources = copySources();
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
