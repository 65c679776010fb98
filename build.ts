import { readdirSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { build, type Plugin } from "esbuild";

/**
 * OpenTelemetry's API is optional: spans need the one that the SDK uses, and who traces installs it. prom-client requires
 * it for exemplars, which nothing here has: it gets a copy. All other packages are in the build.
 */
const optionalApi: Plugin = {
  name: "optional-api",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@opentelemetry\/api$/ }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    ),
};

await rm("dist", { recursive: true, force: true });

// A few files instead of 700: the gateway starts in half the time. Parts that are loaded later are files of their own.
const { metafile } = await build({
  entryPoints: ["src/cli.ts", "src/index.ts", "src/main.ts"],
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.18",
  plugins: [optionalApi],
  metafile: true,
  // The log names the places of unexpected errors by it.
  sourcemap: true,
  sourcesContent: false,
  // Packages in CommonJS call `require` for modules of Node.
  banner: {
    js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
  },
});

/** The folders of the packages of which the build has code. */
const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(file)?.[0] ?? [],
  ),
);

/** The license and the notices of a package as its authors distribute them. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as Record<
    "name" | "version" | "license",
    string
  >;
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(`${folder}${file}`, "utf8").trim());
  return `${name} ${version}, ${license}\n\n${texts.join("\n\n")}\n`;
}

// Licenses ask to be passed on with copies of the code.
await writeFile(
  "dist/licenses.txt",
  // A package can be installed in several folders.
  [...new Set([...packages].toSorted().map(licenseOf))].join(`\n${"-".repeat(80)}\n\n`),
);
