import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Makes one file of a script, whose path begins at the root of this repository: a process starts five times as fast with it as with
 * the sources. Packages are in it, or with `external` found from where it lies.
 */
export async function bundle(
  script: string,
  outfile: string,
  { external = false }: { readonly external?: boolean } = {},
): Promise<string> {
  await build({
    entryPoints: [resolve(ROOT, script)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: external ? "external" : "bundle",
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
  });
  return outfile;
}
