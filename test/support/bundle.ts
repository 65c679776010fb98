import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * Makes one file of a script of this repository, from the root on: a process starts five times as fast with it as with
 * the sources. Packages are in it, or with `external` found from where it lies.
 */
export async function bundle(
  script: string,
  outfile: string,
  { external = false }: { readonly external?: boolean } = {},
): Promise<string> {
  await build({
    entryPoints: [fileURLToPath(new URL(`../../${script}`, import.meta.url))],
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
