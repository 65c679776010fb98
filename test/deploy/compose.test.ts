import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig, SETTINGS } from "../../src/config.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, DEPLOY), "utf8");

/** The services and networks of a file, which must be whole YAML. */
function parseCompose(name: string) {
  const document = parseDocument(read(name), { strict: true, merge: true });
  expect([...document.errors, ...document.warnings]).toEqual([]);
  return document.toJS();
}

const { gateway } = parseCompose("compose.yaml").services;

/** The variables of the gateway when these are set where Compose is run, with what the image adds. */
const environmentWith = (given: Readonly<Record<string, string>>) => ({
  NODE_ENV: "production",
  HOST: "0.0.0.0",
  PORT: "4000",
  ...Object.fromEntries(
    Object.entries<string>(gateway.environment).map(([name, value]) => [
      name,
      value.replace(/^\$\{(\w+):-\}$/, (_, variable: string) => given[variable] ?? ""),
    ]),
  ),
});

test("compose.yaml builds this version, and starts it contained in front of a service or of the demo", () => {
  expect(existsSync(new URL(`${gateway.build.context}/Dockerfile`, DEPLOY))).toBe(true);
  expect(gateway).toMatchObject({
    image: `rungraph:${packageJson.version}`,
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    restart: "unless-stopped",
  });
  const names = Object.keys(gateway.environment).filter((name) => name !== "NODE_OPTIONS");
  expect(SETTINGS).toEqual(expect.arrayContaining(names));
  const demo = readConfig(environmentWith({}));
  expect(demo).toMatchObject({ DEMO: true });
  expect(demo).not.toHaveProperty("UPSTREAM_URL");
  const given = { UPSTREAM_URL: "https://tracker.example.com", UPSTREAM_PROFILE: "polyaxon-0.4" };
  const real = readConfig(environmentWith(given));
  expect(real.UPSTREAM_URL?.href).toBe("https://tracker.example.com/");
  expect(gateway.ports).toEqual([`127.0.0.1:${real.PORT}:${real.PORT}`]);
});

test("compose.replicas.yaml puts nginx with its file in front of replicas that are as in compose.yaml", () => {
  const { services, networks } = parseCompose("compose.replicas.yaml");
  const { balancer, ...replicas } = services;
  const [source = "", target] = balancer.volumes[0].split(":");
  expect(target).toBe("/etc/nginx/nginx.conf");
  const configuration = read(source);
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

test("memory and time suffice: for the heap, for the drain", () => {
  const { DRAIN_TIMEOUT_MS } = readConfig(environmentWith({}));
  expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(DRAIN_TIMEOUT_MS / 1_000);
  const [, heap] = /^--max-old-space-size=(\d+)$/.exec(gateway.environment.NODE_OPTIONS) ?? [];
  expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(gateway.mem_limit, 10) / 2);
});
