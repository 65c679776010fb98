import { createHash } from "node:crypto";
import { type Entry, uniqueOf } from "./entry.ts";

interface Settings {
  readonly product: Entry;
  /** What the build contains. */
  readonly packages: readonly Entry[];
  /** What one of these packages, `name`, contains in turn. */
  readonly within: { readonly name: string; readonly packages: readonly Entry[] };
}

/** Creates the list of what is in the build as CycloneDX 1.6. The same build has the same list: there is no time in it. */
export function createSbom({ product, packages, within }: Settings): object {
  const all = uniqueOf([...packages, ...within.packages]);
  const holder = packages.find(({ name }) => name === within.name);
  if (!holder) throw new Error(`expected ${within.name} in the build`);
  const components = all.map((entry) => componentOf(entry, "library"));
  const hash = createHash("sha256")
    .update(JSON.stringify([product.version, components]))
    .digest("hex");
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-5${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    version: 1,
    metadata: {
      lifecycles: [{ phase: "build" }],
      component: componentOf(product, "application"),
    },
    components,
    dependencies: [
      { ref: referenceOf(product), dependsOn: packages.map(referenceOf) },
      { ref: referenceOf(holder), dependsOn: within.packages.map(referenceOf) },
    ],
  };
}

function componentOf(entry: Entry, type: "application" | "library") {
  const [, group, name = ""] = /^(?:(@[^/]+)\/)?(.+)$/.exec(entry.name) ?? [];
  return {
    type,
    "bom-ref": referenceOf(entry),
    ...(group && { group }),
    name,
    version: entry.version,
    licenses: entry.license.includes(" ")
      ? [{ expression: entry.license }]
      : [{ license: { id: entry.license } }],
    purl: referenceOf(entry),
  };
}

/** The package URL. Fonts are in no registry under these names. */
const referenceOf = ({ name, version }: Entry): string =>
  `pkg:${name.endsWith("-font") ? "generic" : "npm"}/${name.replace("@", "%40")}@${version.replaceAll("+", "%2B")}`;
