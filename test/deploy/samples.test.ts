import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig, SETTINGS } from "../../src/config.ts";
import { NODE_FLAGS } from "../../src/installation.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { fileOf } from "../support/run-balancer.ts";
import { KUSTOMIZE, parseYaml, readSample } from "./samples.ts";

const ROOT = new URL("../../", import.meta.url);
const UPSTREAM_URL = "https://tracker.example.com";

/** What a pattern finds in a text, as names and values. */
const found = (text: string, pattern: RegExp): Record<string, string> =>
  Object.fromEntries([...text.matchAll(pattern)].map(([, name = "", value = ""]) => [name, value]));

const dockerfile = readFileSync(new URL("Dockerfile", ROOT), "utf8");
const stages = dockerfile.split(/^(?=FROM )/m).filter((stage) => stage.startsWith("FROM "));
const last = stages.at(-1) ?? "";
const [variables = ""] = /^ENV .*$/m.exec(last) ?? [];
const image = {
  environment: found(variables, /(\w+)=(\S+)/g),
  // Safe: the tests below start what stands there.
  command: JSON.parse(/^CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
  health: JSON.parse(/^HEALTHCHECK .*?CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
};

const { gateway } = parseYaml("compose.yaml").services;

/** The variables of the gateway when these are set where Compose is run, with what the image adds. */
const composed = (given: Readonly<Record<string, string>>): Record<string, string> => ({
  ...image.environment,
  ...Object.fromEntries(
    Object.entries<string>(gateway.environment).map(([name, value]) => [
      name,
      value.replace(/^\$\{(\w+):-\}$/, (_, variable: string) => given[variable] ?? ""),
    ]),
  ),
});

const unit = readSample("systemd/rungraph@.service");
const ofUnit = found(unit, /^(\w+)=(\d.*)$/gm);

const { container, environment, template } = KUSTOMIZE;
const [, pause] = container.lifecycle.preStop.exec.command;

/** Environments, after how many seconds a gateway is killed, and its memory in megabytes. */
const samples = [
  {
    name: "compose.yaml",
    environment: composed({ UPSTREAM_URL }),
    seconds: gateway.stop_grace_period,
    memory: gateway.mem_limit,
  },
  {
    name: "the example for Kubernetes",
    environment: { ...environment, [container.env[0].name]: container.env[0].value },
    seconds: template.spec.terminationGracePeriodSeconds - Number(pause),
    memory: container.resources.limits.memory,
  },
  {
    name: "the unit of systemd",
    environment: { UPSTREAM_URL, ...found(unit, /^Environment=(\w+)=(.*)$/gm), PORT: "4001" },
    seconds: ofUnit["TimeoutStopSec"],
    memory: ofUnit["MemoryMax"],
  },
];

test.each(samples)(
  "$name has settings that can be used, time for the drain, and half of the memory for the heap",
  (sample) => {
    const { NODE_ENV: _, NODE_OPTIONS: options, ...settings } = sample.environment;
    expect(SETTINGS).toEqual(expect.arrayContaining(Object.keys(settings)));
    const config = readConfig({ ...sample.environment });
    // Without it a demo would be started.
    expect(config.UPSTREAM_URL?.href).toBe(`${UPSTREAM_URL}/`);
    expect(Number.parseInt(sample.seconds, 10) * 1_000).toBeGreaterThan(config.DRAIN_TIMEOUT_MS);
    const [, heap] = /^--max-old-space-size=(\d+)$/.exec(options ?? "") ?? [];
    expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(sample.memory, 10) / 2);
  },
);

test("each sample and the image are of this version", () => {
  const [tag] = parseYaml("kustomize/example/kustomization.yaml").images;
  const label = /org\.opencontainers\.image\.version="([^"]+)"/.exec(last)?.[1];
  expect([gateway.image, container.image, `rungraph:${tag.newTag}`, `rungraph:${label}`]).toEqual(
    Array(4).fill(`rungraph:${packageJson.version}`),
  );
});

test("compose.yaml without a service starts the demo, at the port of the image", () => {
  expect(readConfig(composed({}))).toMatchObject({ DEMO: true });
  expect(readConfig(composed({}))).not.toHaveProperty("UPSTREAM_URL");
  const { PORT } = image.environment;
  expect([gateway.ports, /^EXPOSE (\d+)$/m.exec(last)?.[1]]).toEqual([[`127.0.0.1:${PORT}:${PORT}`], PORT]);
});

test("compose.replicas.yaml puts nginx with its file in front of replicas that are as in compose.yaml", () => {
  const { services, networks } = parseYaml("compose.replicas.yaml");
  const { balancer, ...replicas } = services;
  const [source = "", target] = balancer.volumes[0].split(":");
  expect(target).toBe("/etc/nginx/nginx.conf");
  const configuration = readSample(source);
  const [, port] = /^ {4}listen (\d+);$/m.exec(configuration) ?? [];
  expect(balancer.ports).toEqual([gateway.ports[0].replace(/\d+$/, port)]);
  const [, network] = /^(.*)\.0\/24$/.exec(networks.replicas.ipam.config[0].subnet) ?? [];
  const servers = [...configuration.matchAll(/^ {4}server (\S+):4000 /gm)].map(([, address]) => address);
  expect(servers.every((address) => address?.startsWith(`${network}.`))).toBe(true);
  const { ports: _ports, ...single } = gateway;
  expect(Object.values(replicas)).toEqual(
    servers.map((address) => ({
      ...single,
      environment: { ...single.environment, TRUSTED_PROXIES: "1" },
      networks: { replicas: { ipv4_address: address } },
    })),
  );
});

/** The first number behind `name` in a file, in milliseconds: it is in seconds there. */
const secondsIn = (file: string, name: string): number =>
  1_000 * Number(new RegExp(`^ *${name} (\\d+)s;?$`, "m").exec(file)?.[1]);

test("balancers close idle connections before the gateway does, and wait for it longer than it waits", () => {
  const config = readConfig({});
  const [nginx, haproxy] = [fileOf("nginx"), fileOf("haproxy")];
  const { annotations } = parseYaml("kustomize/ingress/ingress.yaml").metadata;
  const ingress = 1_000 * Number(annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"]);
  expect(secondsIn(nginx, "keepalive_timeout")).toBeLessThan(config.KEEP_ALIVE_TIMEOUT_MS);
  expect(secondsIn(haproxy, "timeout server")).toBeLessThan(config.KEEP_ALIVE_TIMEOUT_MS);
  const waits = ["server", "client", "tunnel"].map((name) => secondsIn(haproxy, `timeout ${name}`));
  const shortest = Math.min(ingress, secondsIn(nginx, "proxy_read_timeout"), ...waits);
  expect(shortest).toBeGreaterThan(Math.max(config.UPSTREAM_IDLE_TIMEOUT_MS, config.REQUEST_TIMEOUT_MS));
  const [, megabytes] = /client_max_body_size (\d+)m;/.exec(nginx) ?? [];
  expect(Number(megabytes) * 2 ** 20).toBeGreaterThan(config.MAX_BODY_BYTES);
});

test("the image starts what npm start starts, not as root, for all addresses, and no demo by itself", () => {
  expect(packageJson.scripts.start).toContain(` && exec ${image.command.join(" ")}`);
  expect(image.command).toEqual(["node", ...NODE_FLAGS, "dist/src/main.js"]);
  expect(last).toMatch(/^USER node$[^]*^CMD \[/m);
  expect(() => readConfig(image.environment)).toThrow(/^UPSTREAM_URL: expected the address of the service/);
  expect(image.environment["HOST"]).toBe("0.0.0.0");
  // An argument from above the first stage is unknown in a stage that does not name it.
  for (const name of ["NODE_IMAGE", "REVISION"]) expect(last).toMatch(new RegExp(`^ARG ${name}\\b`, "m"));
});

test("the image is built from files that exist and that the context has, by a Node that is supported", () => {
  const context = readFileSync(new URL(".dockerignore", ROOT), "utf8").trim().split("\n");
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(copied).toEqual(expect.arrayContaining(["schema", "src/http/graphiql/page"]));
  for (const name of copied) {
    expect(context).toContain(`!${name.split("/", 1)[0]}`);
    expect(existsSync(new URL(name, ROOT))).toBe(true);
  }
  const [, major] = /^ARG NODE_IMAGE=node:(\d+)\.\d+\.\d+-slim$/m.exec(dockerfile) ?? [];
  const [, oldest, tooNew] = /^>=(\d+)\.\d+\.\d+ <(\d+)$/.exec(packageJson.engines.node) ?? [];
  expect(Number(major)).toBeGreaterThanOrEqual(Number(oldest));
  expect(Number(major)).toBeLessThan(Number(tooNew));
});

test("the image asks after its own health without starting Node", async () => {
  /** Whether the health check of the image is satisfied with what answers at a port. */
  const isHealthy = async (port: string): Promise<boolean> => {
    const [shell = "", ...options] = image.health;
    const env = { PATH: process.env["PATH"], PORT: port };
    const [code] = await once(spawn(shell, options, { env, stdio: "ignore" }), "exit");
    return code === 0;
  };
  expect(image.health[0]).toBe("bash");
  const { url } = await startGateway({ upstream: await startFake(() => undefined) });
  expect(await isHealthy(new URL(url).port)).toBe(true);
  const failing = await startFake(() => ({ text: "HTTP/1.1 200 OK", status: 503 }));
  expect(await isHealthy(new URL(failing.url).port)).toBe(false);
  expect(await isHealthy("1")).toBe(false);
});
