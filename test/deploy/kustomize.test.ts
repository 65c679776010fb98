import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import FACTS from "./kustomize-facts.json" with { type: "json" };
import { DEPLOY, KUSTOMIZE, kustomizations, parseYaml } from "./samples.ts";

const { container, environment, generators, inBase, settings, template } = KUSTOMIZE;

test.each(kustomizations)(
  "$folder names each of its files, and only files that exist",
  ({ folder, named }) => {
    const url = new URL(folder, DEPLOY);
    expect(named.filter((name) => !existsSync(new URL(name, url)))).toEqual([]);
    // Prometheus without its operator reads alerts.yaml.
    const known = new Set([...named, "kustomization.yaml", "alerts.yaml"]);
    const files = readdirSync(url).filter((name) => name.endsWith(".yaml"));
    expect(files.filter((name) => !known.has(name))).toEqual([]);
  },
);

const config = readConfig(environment);
const ingress = parseYaml("kustomize/ingress/ingress.yaml");
const { paths } = ingress.spec.rules[0].http;

/** What the facts are about, by the words of their paths. */
const subjects: object = {
  annotations: parseYaml("kustomize/scrape-annotations/annotations.yaml").spec.template.metadata.annotations,
  authority: parseYaml("kustomize/private-ca/mount.yaml").spec.template.spec,
  autoscaler: inBase("autoscaler"),
  backends: paths.map(({ backend }: { backend: object }) => backend),
  budget: inBase("disruption-budget"),
  check: template.spec.initContainers[0],
  config: {
    PORT: config.PORT,
    host: config.PUBLIC_URL?.host,
    port: Number(config.UPSTREAM_URL?.port || 443),
  },
  container,
  deployment: inBase("deployment"),
  generated: Object.fromEntries(generators.map(({ name }) => [name, name])),
  ingress,
  monitor: parseYaml("monitoring/service-monitor.yaml"),
  paths: paths.map(({ path }: { path: string }) => path),
  pods: template,
  policy: inBase("network-policy"),
  service: inBase("service"),
  settings,
};

const at = (words: string): unknown =>
  words.split(" ").reduce<unknown>((value, word) => Reflect.get(Object(value), word), subjects) ?? null;

test.each(FACTS)("in the example for Kubernetes $fact", ({ found, expected }) => {
  const other = typeof expected === "string" ? /^= (.+)$/.exec(expected)?.[1] : undefined;
  const value = other === undefined ? expected : at(other);
  // In annotations numbers are texts.
  expect(at(found)).toEqual(found.startsWith("annotations") ? `${value}` : value);
});

test("the gateway answers at the paths of the probes and of the metrics", async () => {
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const upstream = await startFake(() => undefined);
  const { UPSTREAM_CA_FILE: _ca, UPSTREAM_URL: _url, ...env } = environment;
  const { url } = await startGateway({ upstream, env });
  for (const path of [...probes.map(({ httpGet }) => httpGet.path), at("annotations prometheus.io/path")])
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(Array(3).fill(container.ports[0].name));
});
