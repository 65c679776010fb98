import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { expect, test } from "vitest";
import { z } from "zod";
import { parseEntries } from "../../licenses/entry.ts";
import { BUILT } from "../support/built.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Licenses of code that may be passed on with code under MIT. */
const PERMITTED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
]);

/** Licenses of the fonts of GraphiQL and of its editor, which are no code. Both allow to pass them on with other works. */
const FONTS = new Set(["fira-code-font: OFL-1.1", "codicon-font: CC-BY-4.0"]);

/** What the build says of each package of which it has code. */
const packages = parseEntries(readFileSync(join(BUILT, "dist/licenses.txt"), "utf8"));

test("the build has code only of packages under permissive licenses, the page's included", () => {
  const names = ["graphql", "undici", "zod", "@opentelemetry/api", "monaco-editor", "react-dom"];
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  expect(
    packages
      .filter(({ license }) => !PERMITTED.has(license))
      .map(({ name, license }) => `${name}: ${license}`)
      .filter((each) => !FONTS.has(each)),
  ).toEqual([]);
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** The folders in which a package is installed in one version. */
const foldersOf = (name: string, version: string): string[] =>
  Object.entries((JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock).packages)
    .filter(([folder, installed]) => folder.endsWith(`node_modules/${name}`) && installed.version === version)
    .map(([folder]) => join(ROOT, folder));

test("each package is listed once, with the text of its license: its own, or else that of SPDX and its author", () => {
  const names = packages.map(({ name, version }) => `${name} ${version}`);
  expect(names).toEqual([...new Set(names)]);
  expect(packages.filter(({ text }) => !/copyright|licen[cs]e|permission/i.test(text))).toEqual([]);
  const standard = packages.filter(({ text }) => text.startsWith("The package has no text of its license."));
  expect(standard.length).toBeGreaterThan(0);
  expect(standard.filter(({ text }) => !/^Copyright \(c\) \S/m.test(text))).toEqual([]);
  const overlooked = standard.filter(({ name, version }) =>
    foldersOf(name, version).some((folder) =>
      readdirSync(folder).some((file) => /licen[cs]e|copying/i.test(file)),
    ),
  );
  expect(overlooked).toEqual([]);
});

const sbomText = readFileSync(join(BUILT, "dist/sbom.json"), "utf8");
const Component = z.object({
  "bom-ref": z.string(),
  group: z.string().optional(),
  name: z.string(),
  version: z.string(),
});
const sbom = z
  .object({
    metadata: z.object({ component: Component }),
    components: z.array(Component),
    dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
  })
  .parse(JSON.parse(sbomText));

test("the list of components is CycloneDX 1.6 by its schema", async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(sbomText)).toBeNull();
  expect(await validator.validate(sbomText.replace('"library"', '"canary"'))).not.toBeNull();
});

test("the list of components names the packages of the licenses, each reached from the product", () => {
  const { name, version } = z
    .object({ name: z.string(), version: z.string() })
    .parse(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")));
  expect(sbom.metadata.component).toMatchObject({ name, version });
  const fullName = (each: z.infer<typeof Component>) =>
    `${each.group ? `${each.group}/` : ""}${each.name} ${each.version}`;
  expect(sbom.components.map(fullName).toSorted()).toEqual(
    packages.map((each) => `${each.name} ${each.version}`).toSorted(),
  );
  const references = sbom.components.map((each) => each["bom-ref"]);
  const reached = new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn));
  expect([...reached].toSorted()).toEqual(references.toSorted());
  expect(sbom.dependencies[0]?.ref).toBe(sbom.metadata.component["bom-ref"]);
});
