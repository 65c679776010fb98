import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { readConfig, SETTINGS } from "../../src/config.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { unknownKeysOf } from "../support/kubernetes.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);
const FOLDERS = [
  "kustomize/base",
  "kustomize/ingress",
  "kustomize/private-ca",
  "kustomize/scrape-annotations",
  "kustomize/example",
  "monitoring",
] as const;
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL("../package.json", DEPLOY), "utf8")));

const folderOf = (name: string) => new URL(`${name}/`, DEPLOY);
const namesIn = (name: string) => readdirSync(folderOf(name)).filter((each) => each.endsWith(".yaml"));

/** The only document of a file. Throws when it is no YAML. */
function parseFile(url: URL): unknown {
  const documents = parseAllDocuments(readFileSync(url, "utf8"), { strict: true });
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.toJS();
}

const Files = z.array(z.string()).default([]);
const Generators = z
  .array(
    z.object({
      name: z.string(),
      behavior: z.string().optional(),
      literals: Files,
      files: Files,
      envs: Files,
    }),
  )
  .default([]);
const Kustomization = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(["Kustomization", "Component"]),
  namespace: z.string().optional(),
  resources: Files,
  components: Files,
  patches: z.array(z.strictObject({ path: z.string() })).default([]),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
  configMapGenerator: Generators,
  secretGenerator: Generators,
});
const kustomizationOf = (folder: (typeof FOLDERS)[number]) => ({
  folder,
  ...Kustomization.parse(parseFile(new URL("kustomization.yaml", folderOf(folder)))),
});
const kustomizations = FOLDERS.map(kustomizationOf);

/** The resource of a file, as far as `reader` reads it. */
const resource = <Read>(path: string, reader: z.ZodType<Read>): Read =>
  reader.parse(parseFile(new URL(path, DEPLOY)));

const Labels = z.record(z.string(), z.string());
const Selector = z.object({ matchLabels: Labels });
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const EnvFrom = z.tuple([z.object({ configMapRef: z.object({ name: z.string() }) })]);
const Mounts = z.tuple([z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) })]);
const Deployment = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    // The autoscaler alone sets it.
    replicas: z.undefined().optional(),
    selector: Selector,
    template: z.object({
      metadata: z.object({ labels: Labels, annotations: Labels.default({}) }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.number().positive() }),
        topologySpreadConstraints: z.array(z.object({ labelSelector: Selector })).min(1),
        volumes: z.tuple([
          z.object({
            name: z.string(),
            secret: z.object({ secretName: z.string(), optional: z.literal(true) }),
          }),
        ]),
        initContainers: z.tuple([
          z.object({
            name: z.string(),
            image: z.string(),
            command: z.array(z.string()),
            envFrom: EnvFrom,
            volumeMounts: Mounts,
          }),
        ]),
        containers: z.tuple([
          z.object({
            name: z.string(),
            image: z.string(),
            ports: z.tuple([z.object({ name: z.string(), containerPort: z.number() })]),
            envFrom: EnvFrom,
            volumeMounts: Mounts,
            env: z.tuple([z.object({ name: z.literal("NODE_OPTIONS"), value: z.string() })]),
            startupProbe: Probe,
            readinessProbe: Probe,
            livenessProbe: Probe,
            lifecycle: z.object({
              preStop: z.object({
                exec: z.object({ command: z.tuple([z.literal("sleep"), z.coerce.number()]) }),
              }),
            }),
            resources: z.object({ limits: z.object({ memory: z.templateLiteral([z.number(), "Mi"]) }) }),
            securityContext: z.object({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

const deployment = resource("kustomize/base/deployment.yaml", Deployment);
const { template, selector } = deployment.spec;
const [container] = template.spec.containers;
const [initContainer] = template.spec.initContainers;
const [volume] = template.spec.volumes;
const { labels } = template.metadata;
const [port] = container.ports;

const scrapeAnnotations = resource(
  "kustomize/scrape-annotations/annotations.yaml",
  z.object({
    metadata: z.object({ name: z.string() }),
    spec: z.object({ template: z.object({ metadata: z.object({ annotations: Labels }) }) }),
  }),
);

/** Settings of the example, as its pods get them. */
const literals = ["kustomize/base", "kustomize/private-ca", "kustomize/example"] as const;
const settings = Object.fromEntries(
  literals
    .flatMap((folder) => kustomizationOf(folder).configMapGenerator)
    .flatMap((each) => each.literals)
    .map((literal) => literal.split(/=(.*)/s).slice(0, 2)),
) as Record<string, string>;

/** The secrets of the example: each is a file in its pods. */
const secrets = Object.fromEntries(
  readFileSync(new URL("secrets.env", folderOf("kustomize/example")), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(/=(.*)/s).slice(0, 2)),
) as Record<string, string>;

/** The same settings, with the certificate where it is in this folder and the secrets in variables. */
const environment: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries(settings).filter(([name]) => !(name.replace(/_FILE$/, "") in secrets)),
  ),
  ...secrets,
  UPSTREAM_CA_FILE: fileURLToPath(new URL("ca.pem", folderOf("kustomize/example"))),
};

test.each(kustomizations)("$folder names each of its files, and only files that exist", (each) => {
  const { folder, resources, components, patches, configMapGenerator, secretGenerator } = each;
  const generated = [...configMapGenerator, ...secretGenerator].flatMap(({ files, envs }) => [
    ...files,
    ...envs,
  ]);
  const named = [...resources, ...components, ...patches.map(({ path }) => path), ...generated];
  expect(named.filter((name) => !existsSync(new URL(name, folderOf(folder))))).toEqual([]);
  // Prometheus without its operator reads this one.
  const known = new Set([...named, "kustomization.yaml", "alerts.yaml"]);
  expect(namesIn(folder).filter((name) => !known.has(name))).toEqual([]);
});

const files = kustomizations.flatMap(({ folder, resources }) =>
  resources.filter((name) => name.endsWith(".yaml")).map((name) => `${folder}/${name}`),
);

test.each(files)("%s is what Kubernetes accepts", (path) => {
  expect(unknownKeysOf(parseFile(new URL(path, DEPLOY)))).toEqual([]);
});

test("the resources point at the pods", () => {
  expect(selector.matchLabels).toEqual(labels);
  expect(template.spec.topologySpreadConstraints.map((each) => each.labelSelector.matchLabels)).toEqual([
    labels,
  ]);
  const service = resource(
    "kustomize/base/service.yaml",
    z.object({
      metadata: z.object({ name: z.string(), labels: Labels }),
      spec: z.object({
        selector: Labels,
        ports: z.array(z.object({ name: z.string(), targetPort: z.string() })),
      }),
    }),
  );
  expect(service.spec.selector).toEqual(labels);
  expect(service.spec.ports).toEqual([{ name: "http", targetPort: port.name }]);
  const monitor = resource(
    "monitoring/service-monitor.yaml",
    z.object({ spec: z.object({ selector: Selector, endpoints: z.array(z.unknown()) }) }),
  );
  expect(monitor.spec.selector.matchLabels).toEqual(service.metadata.labels);
  expect(monitor.spec.endpoints).toEqual([{ port: "http", path: "/metrics", interval: "30s" }]);
  const policy = resource(
    "kustomize/base/network-policy.yaml",
    z.object({
      spec: z.object({ podSelector: Selector, ingress: z.array(z.object({ ports: z.unknown() })) }),
    }),
  );
  expect(policy.spec.podSelector.matchLabels).toEqual(labels);
  expect(policy.spec.ingress.map(({ ports }) => ports)).toEqual([[{ port: port.name }]]);
});

test("a replica may go at any time: there is always another one, and nothing but the autoscaler says how many", () => {
  const budget = resource(
    "kustomize/base/disruption-budget.yaml",
    z.object({
      // Strict: `minAvailable` of one replica would forbid every drain.
      spec: z.strictObject({
        maxUnavailable: z.number(),
        selector: Selector,
        unhealthyPodEvictionPolicy: z.literal("AlwaysAllow"),
      }),
    }),
  );
  const autoscaler = resource(
    "kustomize/base/autoscaler.yaml",
    z.object({
      spec: z.object({
        scaleTargetRef: z.object({ kind: z.string(), name: z.string() }),
        minReplicas: z.number(),
        maxReplicas: z.number(),
      }),
    }),
  );
  const { minReplicas, maxReplicas, scaleTargetRef } = autoscaler.spec;
  expect(scaleTargetRef).toEqual({ kind: "Deployment", name: deployment.metadata.name });
  expect(minReplicas).toBeGreaterThanOrEqual(2);
  expect(maxReplicas).toBeGreaterThan(minReplicas);
  expect(budget.spec.selector.matchLabels).toEqual(labels);
  // Of one replica all may go: a node can always be drained.
  expect(budget.spec.maxUnavailable).toBe(1);
});

test("Prometheus reads each replica once: by its operator, or by annotations where a component adds them", () => {
  expect(Object.keys(template.metadata.annotations)).not.toContain("prometheus.io/scrape");
  const { annotations } = scrapeAnnotations.spec.template.metadata;
  expect(annotations["prometheus.io/scrape"]).toBe("true");
  expect(scrapeAnnotations.metadata.name).toBe(deployment.metadata.name);
  for (const { components } of kustomizations) {
    const both = components.filter((name) => /\/(?:monitoring|scrape-annotations)$/.test(name));
    expect(both.length).toBeLessThan(2);
  }
});

test("its variables are settings, with values that can be used", () => {
  const names = [...SETTINGS, ...SETTINGS.map((name) => `${name}_FILE`)];
  expect(names).toEqual(expect.arrayContaining(Object.keys(settings)));
  const config = readConfig(environment);
  // Without it a demo would be started.
  expect(config.UPSTREAM_URL).toBeInstanceOf(URL);
  const generators = (key: "configMapGenerator" | "secretGenerator") =>
    new Set(kustomizations.flatMap((each) => each[key]).map(({ name }) => name));
  const [{ configMapRef }] = container.envFrom;
  expect(generators("configMapGenerator")).toContain(configMapRef.name);
  expect(generators("secretGenerator")).toContain(volume.secret.secretName);
});

test("each secret is a file where its setting says", () => {
  const [{ name, mountPath }] = container.volumeMounts;
  expect(name).toBe(volume.name);
  for (const secret of Object.keys(secrets))
    expect(settings[`${secret}_FILE`]).toBe(`${mountPath}/${secret}`);
});

test("a pod checks its settings before it starts, as the gateway will find them", () => {
  const { image, envFrom, volumeMounts } = container;
  expect(initContainer).toMatchObject({ image, envFrom, volumeMounts });
  expect(initContainer.command).toEqual(["node", "dist/src/cli.js", "--check-config"]);
});

test("the authority of the service is where its setting says", () => {
  const patch = resource(
    "kustomize/private-ca/mount.yaml",
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({
        template: z.object({
          spec: z.object({
            initContainers: z.tuple([z.object({ name: z.string(), volumeMounts: Mounts })]),
            containers: z.tuple([z.object({ name: z.string(), volumeMounts: Mounts })]),
            volumes: z.tuple([z.object({ name: z.string(), secret: z.object({ secretName: z.string() }) })]),
          }),
        }),
      }),
    }),
  );
  const { containers, initContainers, volumes } = patch.spec.template.spec;
  expect(initContainers).toEqual([{ ...containers[0], name: initContainer.name }]);
  const [{ name, volumeMounts }] = containers;
  expect([patch.metadata.name, name]).toEqual([deployment.metadata.name, container.name]);
  expect(volumeMounts[0].name).toBe(volumes[0].name);
  const secret = kustomizationOf("kustomize/example").secretGenerator.find(
    (each) => each.name === volumes[0].secret.secretName,
  );
  expect(secret?.files.map((file) => `${volumeMounts[0].mountPath}/${file}`)).toEqual([
    settings["UPSTREAM_CA_FILE"],
  ]);
});

test("the ingress leads to what callers need, under the address that they are told, and not to the metrics", () => {
  const ingress = resource(
    "kustomize/ingress/ingress.yaml",
    z.object({
      metadata: z.object({ annotations: Labels }),
      spec: z.object({
        tls: z.array(z.object({ hosts: z.array(z.string()) })),
        rules: z.tuple([
          z.object({
            host: z.string(),
            http: z.object({ paths: z.array(z.object({ path: z.string(), backend: z.unknown() })) }),
          }),
        ]),
      }),
    }),
  );
  const [{ host, http }] = ingress.spec.rules;
  const { PUBLIC_URL, UPSTREAM_IDLE_TIMEOUT_MS } = readConfig(environment);
  expect(PUBLIC_URL?.host).toBe(host);
  expect(ingress.spec.tls).toEqual([{ hosts: [host] }]);
  const backend = { service: { name: "rungraph", port: { name: "http" } } };
  expect(http.paths).toEqual([
    { path: "/graphql", backend },
    { path: "/downloads", backend },
    { path: "/export", backend },
  ]);
  const { annotations } = ingress.metadata;
  // One token, one replica: that one reads for all its tabs.
  expect(annotations["nginx.ingress.kubernetes.io/upstream-hash-by"]).toBe("$http_authorization");
  const seconds = annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"];
  expect(Number(seconds)).toBeGreaterThan(UPSTREAM_IDLE_TIMEOUT_MS / 1_000);
});

test("pods may reach the service, and no metadata of the cloud", () => {
  const policy = resource(
    "kustomize/base/network-policy.yaml",
    z.object({
      spec: z.object({
        egress: z.array(
          z.object({
            to: z
              .array(z.object({ ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()) }) }))
              .default([]),
            ports: z.array(z.object({ port: z.number() })),
          }),
        ),
      }),
    }),
  );
  const { UPSTREAM_URL } = readConfig(environment);
  const [, outside] = policy.spec.egress;
  const ports = outside?.ports.map((each) => each.port) ?? [];
  expect(ports).toContain(Number(UPSTREAM_URL?.port || 443));
  expect(outside?.to[0]?.ipBlock).toEqual({ cidr: "0.0.0.0/0", except: ["169.254.0.0/16"] });
});

test("there is time for the drain before a replica is killed", () => {
  const [, seconds] = container.lifecycle.preStop.exec.command;
  const drainSeconds = readConfig(environment).DRAIN_TIMEOUT_MS / 1_000;
  expect(drainSeconds).toBe(readConfig({}).DRAIN_TIMEOUT_MS / 1_000);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds + drainSeconds);
});

test("the heap ends before the memory of the container does", () => {
  const [, heap] = /--max-old-space-size=(\d+)/.exec(container.env[0].value) ?? [];
  expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(container.resources.limits.memory, 10) / 2);
});

test("the gateway answers at the paths of the probes and of the metrics, at its default port", async () => {
  const upstream = await startFake(() => undefined);
  const { UPSTREAM_CA_FILE: _ca, UPSTREAM_URL: _url, ...env } = environment;
  const { url } = await startGateway({ upstream, env });
  const { annotations } = scrapeAnnotations.spec.template.metadata;
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const paths = [...probes.map(({ httpGet }) => httpGet.path), annotations["prometheus.io/path"] ?? ""];
  expect(paths).toEqual(["/readyz", "/readyz", "/healthz", "/metrics"]);
  for (const path of paths) expect((await fetch(url + path)).status).toBe(200);
  for (const { httpGet } of probes) expect(httpGet.port).toBe(port.name);
  expect(annotations["prometheus.io/port"]).toBe(String(port.containerPort));
  expect(readConfig(environment).PORT).toBe(port.containerPort);
});

test("this version is deployed", () => {
  expect(container.image).toBe(`rungraph:${version}`);
  expect(kustomizationOf("kustomize/example").images).toEqual([
    { name: "rungraph", newName: "registry.example.com/rungraph", newTag: version },
  ]);
});
