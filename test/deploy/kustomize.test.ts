import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig, SETTINGS } from "../../src/config.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { unknownKeysOf } from "../support/kubernetes.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);

/** The only document of a file. Throws when it is no YAML. */
function parseFile(path: string) {
  const documents = parseAllDocuments(readFileSync(new URL(path, DEPLOY), "utf8"), { strict: true });
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.toJS();
}

interface Generator {
  readonly name: string;
  readonly literals?: readonly string[];
  readonly files?: readonly string[];
  readonly envs?: readonly string[];
}

const FOLDERS = ["base", "ingress", "private-ca", "scrape-annotations", "example", "../monitoring"];
const kustomizations = FOLDERS.map((name) => {
  const folder = `kustomize/${name}/`;
  const {
    resources = [],
    components = [],
    patches = [],
    ...others
  } = parseFile(`${folder}kustomization.yaml`);
  const { configMapGenerator = [], secretGenerator = [] } = others;
  const generators: readonly Generator[] = [...configMapGenerator, ...secretGenerator];
  const generated = generators.flatMap(({ files = [], envs = [] }) => [...files, ...envs]);
  const patched = patches.map(({ path }: { path: string }) => path);
  return {
    folder,
    resources,
    components,
    generators,
    named: [...resources, ...components, ...patched, ...generated],
  };
});

const inBase = (name: string) => parseFile(`kustomize/base/${name}.yaml`);
const { metadata, spec } = inBase("deployment");
const { template } = spec;
const { labels } = template.metadata;
const [container] = template.spec.containers;
const [port] = container.ports;
const { annotations } = parseFile("kustomize/scrape-annotations/annotations.yaml").spec.template.metadata;
const mount = parseFile("kustomize/private-ca/mount.yaml");

/** Pairs of a name and a value, as files of variables and literals have them. */
const pairs = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));

/** Settings of the example, as its pods get them, and its secrets, each of which is a file there. */
const settings = pairs(
  kustomizations.flatMap(({ generators }) => generators.flatMap(({ literals = [] }) => literals)),
);
const secretLines = readFileSync(new URL("kustomize/example/secrets.env", DEPLOY), "utf8").trim().split("\n");
const secrets = pairs(secretLines);

/** The same settings, with the certificate where it is in this folder and the secrets in variables. */
const environment: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries(settings).filter(([name]) => !(name.replace(/_FILE$/, "") in secrets)),
  ),
  ...secrets,
  UPSTREAM_CA_FILE: fileURLToPath(new URL("kustomize/example/ca.pem", DEPLOY)),
};

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
  names.filter((name: string) => name.endsWith(".yaml")).map((name: string) => folder + name),
);

test.each(resources)("%s is what Kubernetes accepts", (path) => {
  expect(unknownKeysOf(parseFile(path))).toEqual([]);
});

test("services, budgets, policies and monitors select the pods, and the autoscaler alone says how many there are", () => {
  expect(spec).toMatchObject({ selector: { matchLabels: labels } });
  expect(spec).not.toHaveProperty("replicas");
  const service = inBase("service");
  expect(service.spec).toEqual({
    selector: labels,
    ports: [{ name: "http", port: 80, targetPort: port.name }],
  });
  expect(parseFile("monitoring/service-monitor.yaml").spec).toMatchObject({
    selector: { matchLabels: service.metadata.labels },
    endpoints: [{ port: "http", path: "/metrics" }],
  });
  const { podSelector, ingress } = inBase("network-policy").spec;
  expect([podSelector.matchLabels, ingress[0].ports]).toEqual([labels, [{ port: port.name }]]);
  // Of one replica all may go: `minAvailable` would forbid the drain of its node.
  expect(inBase("disruption-budget").spec).toEqual({
    maxUnavailable: 1,
    selector: { matchLabels: labels },
    unhealthyPodEvictionPolicy: "AlwaysAllow",
  });
  const { scaleTargetRef, minReplicas } = inBase("autoscaler").spec;
  expect(scaleTargetRef).toMatchObject({ kind: "Deployment", name: metadata.name });
  expect(minReplicas).toBeGreaterThanOrEqual(2);
});

test("pods run without privileges, and check their settings and secrets as the gateway will find them", () => {
  expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
  const [volume] = template.spec.volumes;
  const [{ name, mountPath }] = container.volumeMounts;
  expect(name).toBe(volume.name);
  for (const secret of Object.keys(secrets))
    expect(settings[`${secret}_FILE`]).toBe(`${mountPath}/${secret}`);
  const generated = kustomizations.flatMap(({ generators }) => generators.map((each) => each.name));
  expect(generated).toEqual(
    expect.arrayContaining([container.envFrom[0].configMapRef.name, volume.secret.secretName]),
  );
  const { image, envFrom, volumeMounts, securityContext } = container;
  expect(securityContext).toMatchObject({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  expect(template.spec.initContainers).toEqual([
    expect.objectContaining({
      image,
      envFrom,
      volumeMounts,
      securityContext,
      command: ["node", "dist/src/cli.js", "--check-config"],
    }),
  ]);
});

test("its variables are settings that can be used, and the authority of the service is where its setting says", () => {
  const names = [...SETTINGS, ...SETTINGS.map((name) => `${name}_FILE`)];
  expect(names).toEqual(expect.arrayContaining(Object.keys(settings)));
  // Without it a demo would be started.
  expect(readConfig(environment).UPSTREAM_URL).toBeInstanceOf(URL);
  const { containers, initContainers, volumes } = mount.spec.template.spec;
  const [{ volumeMounts }] = containers;
  expect(containers[0].name).toBe(container.name);
  expect(initContainers).toEqual([{ name: template.spec.initContainers[0].name, volumeMounts }]);
  const secret = kustomizations
    .flatMap(({ generators }) => generators)
    .find((each) => each.name === volumes[0].secret.secretName);
  expect(`${volumeMounts[0].mountPath}/${secret?.files?.join()}`).toBe(settings["UPSTREAM_CA_FILE"]);
});

test("the ingress leads to what callers need, under the address that they are told, and not to the metrics", () => {
  const ingress = parseFile("kustomize/ingress/ingress.yaml");
  const [{ host, http }] = ingress.spec.rules;
  const { PUBLIC_URL, UPSTREAM_IDLE_TIMEOUT_MS } = readConfig(environment);
  expect([PUBLIC_URL?.host, ingress.spec.tls[0].hosts]).toEqual([host, [host]]);
  const backend = { service: { name: "rungraph", port: { name: "http" } } };
  expect(http.paths).toMatchObject(["/graphql", "/downloads", "/export"].map((path) => ({ path, backend })));
  const option = (name: string) => ingress.metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
  // One token, one replica: that one reads for all its tabs.
  expect(option("upstream-hash-by")).toBe("$http_authorization");
  expect(Number(option("proxy-read-timeout"))).toBeGreaterThan(UPSTREAM_IDLE_TIMEOUT_MS / 1_000);
});

test("pods may reach the service, and no metadata of the cloud", () => {
  const [, outside] = inBase("network-policy").spec.egress;
  const { UPSTREAM_URL } = readConfig(environment);
  expect(outside.ports).toContainEqual({ port: Number(UPSTREAM_URL?.port || 443) });
  expect(outside.to[0].ipBlock).toEqual({ cidr: "0.0.0.0/0", except: ["169.254.0.0/16"] });
});

test("there is time for the drain before a replica is killed, and the heap ends before its memory does", () => {
  const [, seconds] = container.lifecycle.preStop.exec.command;
  const { DRAIN_TIMEOUT_MS } = readConfig(environment);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
    Number(seconds) + DRAIN_TIMEOUT_MS / 1_000,
  );
  const [, heap] = /--max-old-space-size=(\d+)/.exec(container.env[0].value) ?? [];
  expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(container.resources.limits.memory, 10) / 2);
});

test("the gateway answers at the paths of the probes and of the metrics, at its default port", async () => {
  const upstream = await startFake(() => undefined);
  const { UPSTREAM_CA_FILE: _ca, UPSTREAM_URL: _url, ...env } = environment;
  const { url } = await startGateway({ upstream, env });
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const paths = [...probes.map(({ httpGet }) => httpGet.path), annotations["prometheus.io/path"]];
  expect(paths).toEqual(["/readyz", "/readyz", "/healthz", "/metrics"]);
  for (const path of paths) expect((await fetch(url + path)).status).toBe(200);
  for (const { httpGet } of probes) expect(httpGet.port).toBe(port.name);
  expect([Number(annotations["prometheus.io/port"]), readConfig(environment).PORT]).toEqual([
    port.containerPort,
    port.containerPort,
  ]);
});

test("this version is deployed", () => {
  expect(container.image).toBe(`rungraph:${packageJson.version}`);
  expect(parseFile("kustomize/example/kustomization.yaml").images).toEqual([
    { name: "rungraph", newName: "registry.example.com/rungraph", newTag: packageJson.version },
  ]);
});
