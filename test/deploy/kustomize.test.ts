import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { DEPLOY, KUSTOMIZE, kustomizations, parseYaml } from "./samples.ts";

const { container, environment } = KUSTOMIZE;
const { annotations } = parseYaml("kustomize/scrape-annotations/annotations.yaml").spec.template.metadata;

test.each(kustomizations)("$folder lists all its files, and only files that exist", ({ folder, named }) => {
  const url = new URL(folder, DEPLOY);
  expect(named.filter((name) => !existsSync(new URL(name, url)))).toEqual([]);
  // The list lacks alerts.yaml, because only a Prometheus without the operator reads this file.
  const known = new Set([...named, "kustomization.yaml", "alerts.yaml"]);
  const files = readdirSync(url).filter((name) => name.endsWith(".yaml"));
  expect(files.filter((name) => !known.has(name))).toEqual([]);
});

test("the gateway answers at the probe and metrics paths", async () => {
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const upstream = await startFake(() => undefined);
  const { UPSTREAM_CA_FILE: _ca, UPSTREAM_URL: _url, ...env } = environment;
  const { url } = await startGateway({ upstream, env });
  for (const path of [...probes.map(({ httpGet }) => httpGet.path), annotations["prometheus.io/path"]])
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(Array(3).fill(container.ports[0].name));
});

test("the service and the network policy cover IPv4 and IPv6", () => {
  expect(KUSTOMIZE.inBase("service").spec.ipFamilyPolicy).toBe("PreferDualStack");
  const egress: { readonly to?: readonly { readonly ipBlock: { readonly cidr: string } }[] }[] =
    KUSTOMIZE.inBase("network-policy").spec.egress;
  const networks = egress.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock.cidr));
  expect(networks).toEqual(["0.0.0.0/0", "::/0"]);
});
