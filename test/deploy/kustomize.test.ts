import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { unknownKeysOf } from "../support/kubernetes.ts";
import { DEPLOY, KUSTOMIZE, kustomizations, parseYaml } from "./samples.ts";

const { container, environment, generators, inBase, secrets, settings, template } = KUSTOMIZE;

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

const resources = kustomizations.flatMap(({ folder, resources: names }) =>
  names.filter((name) => name.endsWith(".yaml")).map((name) => folder + name),
);

test.each(resources)("%s is what Kubernetes accepts", (path) => {
  expect(unknownKeysOf(parseYaml(path))).toEqual([]);
});

const { spec, metadata } = inBase("deployment");
const { labels } = template.metadata;
const [port] = container.ports;
const [volume] = template.spec.volumes;
const service = inBase("service");
const policy = inBase("network-policy").spec;
const budget = inBase("disruption-budget").spec;
const autoscaler = inBase("autoscaler").spec;
const monitor = parseYaml("monitoring/service-monitor.yaml").spec;
const ingress = parseYaml("kustomize/ingress/ingress.yaml");
const [{ host, http }] = ingress.spec.rules;
const annotated = parseYaml("kustomize/scrape-annotations/annotations.yaml").spec.template.metadata;
const authority = parseYaml("kustomize/private-ca/mount.yaml").spec.template.spec;
const [{ volumeMounts }] = authority.containers;
const config = readConfig(environment);
const secretOf = (name: string) => generators.find((each) => each.name === name)?.files?.join();
const backend = { service: { name: service.metadata.name, port: { name: service.spec.ports[0].name } } };

test.each<[fact: string, found: unknown, expected: unknown]>([
  [
    "the deployment, its service, budget and network policy select the pods",
    [spec.selector, budget.selector, policy.podSelector].map(({ matchLabels }) => matchLabels),
    [labels, labels, labels],
  ],
  ["the service leads to the pods", service.spec, { selector: labels, ports: [expect.anything()] }],
  [
    "all mean the one port by its name",
    [service.spec.ports[0].targetPort, policy.ingress[0].ports[0].port],
    [port.name, port.name],
  ],
  [
    "the default port of the gateway is that of the pods and of the annotations",
    [port.containerPort, Number(annotated.annotations["prometheus.io/port"])],
    [config.PORT, config.PORT],
  ],
  [
    "the monitor scrapes the service",
    [monitor.selector.matchLabels, monitor.endpoints[0].port],
    [service.metadata.labels, service.spec.ports[0].name],
  ],
  [
    "the autoscaler alone says how many pods there are",
    [autoscaler.scaleTargetRef.name, spec.replicas],
    [metadata.name, undefined],
  ],
  // Of one replica all may go: `minAvailable` would forbid the drain of its node.
  ["one replica after the other may go", budget.maxUnavailable, 1],
  [
    "settings and secrets are where the pods look for them",
    generators.map(({ name }) => name),
    expect.arrayContaining([container.envFrom[0].configMapRef.name, volume.secret.secretName]),
  ],
  [
    "each secret is a file which its setting names",
    Object.keys(secrets).map((name) => settings[`${name}_FILE`]),
    Object.keys(secrets).map((name) => `${container.volumeMounts[0].mountPath}/${name}`),
  ],
  [
    "pods check their settings as the gateway finds them, and run without privileges",
    template.spec.initContainers,
    [
      expect.objectContaining({
        image: container.image,
        envFrom: container.envFrom,
        volumeMounts: container.volumeMounts,
        securityContext: container.securityContext,
        command: ["node", "dist/src/cli.js", "--check-config"],
      }),
    ],
  ],
  [
    "the authority of the service is where its setting says, for the check as well",
    [
      `${volumeMounts[0].mountPath}/${secretOf(authority.volumes[0].secret.secretName)}`,
      authority.initContainers,
    ],
    [settings["UPSTREAM_CA_FILE"], [{ name: template.spec.initContainers[0].name, volumeMounts }]],
  ],
  [
    "callers are told the address of the ingress",
    [config.PUBLIC_URL?.host, ingress.spec.tls[0].hosts],
    [host, [host]],
  ],
  [
    "the ingress leads to what callers need, and not to the metrics",
    http.paths,
    ["/graphql", "/downloads", "/export"].map((path) => expect.objectContaining({ path, backend })),
  ],
  [
    "the ingress has each token at one replica, which reads for all its tabs",
    ingress.metadata.annotations["nginx.ingress.kubernetes.io/upstream-hash-by"],
    "$http_authorization",
  ],
  [
    "pods may reach the service, and no metadata of the cloud",
    [policy.egress[1].ports[0], policy.egress[1].to[0].ipBlock.except],
    [{ port: Number(config.UPSTREAM_URL?.port || 443) }, ["169.254.0.0/16"]],
  ],
])("in the example for Kubernetes %s", (_, found, expected) => {
  expect(found).toEqual(expected);
});

test("the gateway answers at the paths of the probes and of the metrics", async () => {
  const upstream = await startFake(() => undefined);
  const { UPSTREAM_CA_FILE: _ca, UPSTREAM_URL: _url, ...env } = environment;
  const { url } = await startGateway({ upstream, env });
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const paths = [...probes.map(({ httpGet }) => httpGet.path), annotated.annotations["prometheus.io/path"]];
  for (const path of paths) expect((await fetch(url + path)).status).toBe(200);
  expect(probes.map(({ httpGet }) => httpGet.port)).toEqual([port.name, port.name, port.name]);
});
