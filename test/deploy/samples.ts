import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { parseAllDocuments } from "yaml";

export const DEPLOY = new URL("../../deploy/", import.meta.url);

export const readSample = (path: string): string => readFileSync(new URL(path, DEPLOY), "utf8");

/** The only document of a YAML file. Throws if the file is not valid. */
export function parseYaml(path: string) {
  const documents = parseAllDocuments(readSample(path), { strict: true, merge: true });
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.toJS();
}

type Generator = { readonly name: string } & {
  readonly [lines in "literals" | "files" | "envs"]?: readonly string[];
};

const FOLDERS = ["base", "ingress", "private-ca", "scrape-annotations", "example", "../monitoring"];

export const kustomizations = FOLDERS.map((name) => {
  const folder = `kustomize/${name}/`;
  const read = parseYaml(`${folder}kustomization.yaml`);
  const { resources = [], components = [], patches = [], ...others } = read;
  const { configMapGenerator = [], secretGenerator = [] } = others;
  const generators: readonly Generator[] = [...configMapGenerator, ...secretGenerator];
  const generated = generators.flatMap(({ files = [], envs = [] }) => [...files, ...envs]);
  const patched = patches.map(({ path }: { path: string }) => path);
  const named: readonly string[] = [...resources, ...components, ...patched, ...generated];
  return { folder, resources: resources as readonly string[], generators, named };
});

/** Pairs of a name and a value, as in files of variables and in literals. */
const pairs = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));

function kustomize() {
  const generators = kustomizations.flatMap((each) => each.generators);
  const inBase = (name: string) => parseYaml(`kustomize/base/${name}.yaml`);
  const { template } = inBase("deployment").spec;
  /** The settings of the example as its pods receive them, and its secrets. Each secret is a file in a pod. */
  const settings = pairs(generators.flatMap(({ literals = [] }) => literals));
  const secrets = pairs(readSample("kustomize/example/secrets.env").trim().split("\n"));
  const named = Object.entries(settings).filter(([name]) => !(name.replace(/_FILE$/, "") in secrets));
  /** The same settings, with the certificate as a file in this folder and the secrets as variables. */
  const environment: Record<string, string> = {
    ...Object.fromEntries(named),
    ...secrets,
    UPSTREAM_CA_FILE: fileURLToPath(new URL("kustomize/example/ca.pem", DEPLOY)),
  };
  const [container] = template.spec.containers;
  return { container, environment, generators, inBase, settings, template };
}

export const KUSTOMIZE = kustomize();
