import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { readConfig, SETTINGS } from "../../src/config.ts";
import { NODE_FLAGS } from "../../src/node-flags.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const { dependencies, engines, scripts, version } = z
  .object({
    dependencies: z.record(z.string(), z.string()).default({}),
    engines: z.object({ node: z.string() }),
    scripts: z.record(z.string(), z.string()),
    version: z.string(),
  })
  .parse(JSON.parse(read("package.json")));

const Labels = z.record(z.string(), z.string());
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const Deployment = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.number(),
    selector: z.object({ matchLabels: Labels }),
    template: z.object({
      metadata: z.object({ labels: Labels, annotations: Labels }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.number().positive() }),
        topologySpreadConstraints: z
          .array(z.object({ labelSelector: z.object({ matchLabels: Labels }) }))
          .min(1),
        containers: z.tuple([
          z.object({
            image: z.string(),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            env: z.array(z.object({ name: z.string(), value: z.string() })),
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
const Service = z.object({
  spec: z.object({ selector: Labels, ports: z.array(z.object({ targetPort: z.string() })) }),
});
const Budget = z.object({
  spec: z.object({ minAvailable: z.number(), selector: z.object({ matchLabels: Labels }) }),
});
const Autoscaler = z.object({
  spec: z.object({
    scaleTargetRef: z.object({ kind: z.string(), name: z.string() }),
    minReplicas: z.number(),
    maxReplicas: z.number(),
  }),
});

const documents = parseAllDocuments(read("deploy/kubernetes.yaml"), { strict: true });
const ofKind = <Read>(kind: string, reader: z.ZodType<Read>): Read =>
  reader.parse(
    documents.map((document) => document.toJS() as { kind: string }).find((each) => each.kind === kind),
  );

const deployment = ofKind("Deployment", Deployment);
const { template, replicas, selector } = deployment.spec;
const [container] = template.spec.containers;
const environment = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));

test("the manifest is whole YAML of four objects that point at each other", () => {
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(documents).toHaveLength(4);
  const { labels } = template.metadata;
  expect(selector.matchLabels).toEqual(labels);
  expect(template.spec.topologySpreadConstraints[0]?.labelSelector.matchLabels).toEqual(labels);
  const service = ofKind("Service", Service);
  expect(service.spec.selector).toEqual(labels);
  expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual([container.ports[0]?.name]);
  expect(ofKind("PodDisruptionBudget", Budget).spec.selector.matchLabels).toEqual(labels);
  expect(ofKind("HorizontalPodAutoscaler", Autoscaler).spec.scaleTargetRef).toMatchObject({
    kind: "Deployment",
    name: deployment.metadata.name,
  });
});

test("a replica may go at any time: there is always another one", () => {
  const { minReplicas, maxReplicas } = ofKind("HorizontalPodAutoscaler", Autoscaler).spec;
  const { minAvailable } = ofKind("PodDisruptionBudget", Budget).spec;
  expect(replicas).toBeGreaterThanOrEqual(2);
  expect(minReplicas).toBe(replicas);
  expect(maxReplicas).toBeGreaterThan(minReplicas);
  expect(minAvailable).toBeGreaterThanOrEqual(1);
  expect(minAvailable).toBeLessThan(minReplicas);
});

test("its variables are settings, with values that can be used, and name the service", () => {
  const names = container.env.map(({ name }) => name).filter((name) => name !== "NODE_OPTIONS");
  expect(SETTINGS).toEqual(expect.arrayContaining(names));
  expect(new Set(names).size).toBe(names.length);
  // Without it a demo would be started.
  expect(readConfig(environment).UPSTREAM_URL).toBeInstanceOf(URL);
  expect(readConfig(environment).PUBLIC_URL).toBeInstanceOf(URL);
});

test("there is time for the drain before a replica is killed", () => {
  const {
    preStop: {
      exec: {
        command: [, seconds],
      },
    },
  } = container.lifecycle;
  const drainSeconds = readConfig(environment).DRAIN_TIMEOUT_MS / 1_000;
  expect(drainSeconds).toBe(readConfig({}).DRAIN_TIMEOUT_MS / 1_000);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds + drainSeconds);
});

test("the heap ends before the memory of the container does", () => {
  const [, heap] = /--max-old-space-size=(\d+)/.exec(environment["NODE_OPTIONS"] ?? "") ?? [];
  expect(Number(heap)).toBeLessThan(Number.parseInt(container.resources.limits.memory, 10));
});

test("the gateway answers at the paths of the probes and of the metrics, at the port of the image", async () => {
  const upstream = await startFake(() => undefined);
  const { url } = await startGateway({ upstream, env: environment });
  const { annotations } = template.metadata;
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
  const paths = [...probes.map(({ httpGet }) => httpGet.path), annotations["prometheus.io/path"] ?? ""];
  expect(paths).toEqual(["/readyz", "/readyz", "/healthz", "/metrics"]);
  for (const path of paths) expect((await fetch(url + path)).status).toBe(200);

  const port = container.ports[0]?.containerPort;
  for (const { httpGet } of probes) expect(httpGet.port).toBe(container.ports[0]?.name);
  expect(annotations["prometheus.io/port"]).toBe(String(port));
  expect(image.port).toBe(port);
  expect(readConfig({ ...image.environment, ...environment }).PORT).toBe(port);
});

const dockerfile = read("Dockerfile");
const stages = dockerfile.split(/^(?=FROM )/m).filter((stage) => stage.startsWith("FROM "));
const last = stages.at(-1) ?? "";
const image = {
  environment: Object.fromEntries(
    [...(/^ENV (.*)$/m.exec(last)?.[1]?.matchAll(/(\w+)=(\S+)/g) ?? [])].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  ),
  port: Number(/^EXPOSE (\d+)$/m.exec(last)?.[1]),
  command: z.array(z.string()).parse(JSON.parse(/^CMD (.*)$/m.exec(last)?.[1] ?? "")),
  health: z.array(z.string()).parse(JSON.parse(/^HEALTHCHECK .*?CMD (.*)$/m.exec(last)?.[1] ?? "")),
};

test("the image starts what npm start starts, not as root, for all addresses, at its own port", () => {
  expect(scripts["start"]).toMatch(/ && node dist\/cli\.js$/);
  expect(image.command).toEqual(["node", ...NODE_FLAGS, "dist/main.js"]);
  expect(/^USER (.*)$/m.exec(last)?.[1]).toBe("node");
  expect(last.indexOf("USER node")).toBeLessThan(last.indexOf("CMD ["));
  // Who starts it names the service: with the image's NODE_ENV no demo starts by itself.
  expect(() => readConfig(image.environment)).toThrow(/^UPSTREAM_URL: expected the address of the service/);
  const { HOST, PORT } = readConfig({ ...image.environment, UPSTREAM_URL: "https://service.example" });
  expect([HOST, PORT]).toEqual(["0.0.0.0", image.port]);
  const settings = Object.keys(image.environment).filter((name) => name !== "NODE_ENV");
  expect(SETTINGS).toEqual(expect.arrayContaining(settings));
});

test("the image is built from files that exist and that the context has, by one Node that is new enough", () => {
  const context = read(".dockerignore").trim().split("\n");
  expect(context[0]).toBe("*");
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(copied).toEqual(expect.arrayContaining(["schema", "page"]));
  for (const name of copied) {
    expect(context).toContain(`!${name}`);
    expect(existsSync(new URL(name, ROOT))).toBe(true);
  }
  const bases = stages.map((stage) => /^FROM (\S+)/.exec(stage)?.[1]);
  expect(new Set(bases)).toEqual(new Set(["node:22-slim"]));
  expect(22).toBeGreaterThan(Number.parseInt(engines.node.replace(/\D*/, ""), 10));
});

test("only what was built goes into the image: the product has no dependencies", () => {
  expect(dockerfile.match(/^RUN npm ci.*$/gm)).toEqual(["RUN npm ci"]);
  expect(Object.keys(dependencies)).toEqual([]);
  expect(last).not.toMatch(/^RUN /m);
  expect(last).toContain("COPY --from=build /app/dist ");
});

test("the image asks after its own health where the gateway answers", async () => {
  const upstream = await startFake(() => undefined);
  const { url } = await startGateway({ upstream });
  const [node, flag, script = ""] = image.health;
  expect([node, flag]).toEqual(["node", "-e"]);
  const [, path] = /\$\{process\.env\.PORT\}(\/\w+)/.exec(script) ?? [];
  expect((await fetch(url + path)).status).toBe(200);
});

test("the manifest deploys this version", () => {
  expect(container.image.split(":")[1]).toBe(version);
});
