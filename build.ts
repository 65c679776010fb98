import { readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { entryOf, formatEntries, parseEntries, uniqueOf } from "./licenses/entry.ts";
import { createSbom } from "./licenses/sbom.ts";

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

/** The page's file that holds other packages. Each release of it needs a list of its own: licenses/renew.ts. */
const GRAPHIQL = "@graphql-yoga/render-graphiql";
const GRAPHIQL_VERSION = "5.24.1";

const contained = uniqueOf([...packages].toSorted().map(entryOf));
if (!contained.some(({ name, version }) => name === GRAPHIQL && version === GRAPHIQL_VERSION))
  throw new Error(`expected ${GRAPHIQL} ${GRAPHIQL_VERSION}: licenses/graphiql.txt is about that`);
const within = parseEntries(await readFile("licenses/graphiql.txt", "utf8"));

// Licenses ask to be passed on with copies of the code.
await writeFile("dist/licenses.txt", formatEntries(uniqueOf([...contained, ...within])));
await writeFile(
  "dist/sbom.json",
  `${JSON.stringify(createSbom({ product: entryOf("."), packages: contained, within: { name: GRAPHIQL, packages: within } }), null, 1)}\n`,
);
