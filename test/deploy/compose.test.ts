import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { z } from "zod";
import { readConfig, SETTINGS } from "../../src/config.ts";

const ROOT = new URL("../../", import.meta.url);
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")));

const Megabytes = z.templateLiteral([z.number(), "m"]);
const Contained = {
  mem_limit: Megabytes,
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal("ALL")]),
  security_opt: z.tuple([z.literal("no-new-privileges:true")]),
  restart: z.literal("unless-stopped"),
};
const Gateway = {
  image: z.string(),
  build: z.strictObject({ context: z.string() }),
  environment: z.record(z.string(), z.string()),
  stop_grace_period: z.templateLiteral([z.number(), "s"]),
  ...Contained,
};
const Compose = z.strictObject({
  name: z.literal("rungraph"),
  services: z.strictObject({ gateway: z.strictObject({ ports: z.tuple([z.string()]), ...Gateway }) }),
});

const file = new URL("deploy/compose.yaml", ROOT);
const document = parseDocument(readFileSync(file, "utf8"), { strict: true });
const { gateway } = Compose.parse(document.toJS()).services;

/** The variables of the gateway when these are set where Compose is run. */
const environmentWith = (given: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(gateway.environment).map(([name, value]) => [
      name,
      value.replace(/^\$\{(\w+):-\}$/, (_, variable: string) => given[variable] ?? ""),
    ]),
  );
/** What the image adds. */
const IMAGE = { NODE_ENV: "production", HOST: "0.0.0.0", PORT: "4000" };

test("the file is whole YAML, and builds this version from the Dockerfile", () => {
  expect([...document.errors, ...document.warnings]).toEqual([]);
  expect(existsSync(new URL(`${gateway.build.context}/Dockerfile`, file))).toBe(true);
  expect(gateway.image).toBe(`rungraph:${version}`);
});

test("the gateway starts in front of a service or of the demo, at the port of the image", () => {
  const names = Object.keys(gateway.environment).filter((name) => name !== "NODE_OPTIONS");
  expect(SETTINGS).toEqual(expect.arrayContaining(names));
  const demo = readConfig({ ...IMAGE, ...environmentWith({}) });
  expect(demo).toMatchObject({ DEMO: true });
  expect(demo).not.toHaveProperty("UPSTREAM_URL");
  const given = { UPSTREAM_URL: "https://tracker.example.com", UPSTREAM_PROFILE: "polyaxon-0.4" };
  const real = readConfig({ ...IMAGE, ...environmentWith(given) });
  expect(real.UPSTREAM_URL?.href).toBe("https://tracker.example.com/");
  expect(gateway.ports).toEqual([`127.0.0.1:${real.PORT}:${real.PORT}`]);
});

test("compose.replicas.yaml puts nginx with its file in front of the replicas that it names", () => {
  const url = new URL("deploy/compose.replicas.yaml", ROOT);
  const replicasFile = parseDocument(readFileSync(url, "utf8"), { strict: true, merge: true });
  expect([...replicasFile.errors, ...replicasFile.warnings]).toEqual([]);
  const Replica = z.strictObject({
    ...Gateway,
    networks: z.strictObject({ replicas: z.strictObject({ ipv4_address: z.ipv4() }) }),
  });
  const { services, networks } = z
    .object({
      services: z.object({
        balancer: z.strictObject({
          image: z.string().regex(/^nginx:\d+\.\d+\.\d+-alpine$/),
          networks: z.tuple([z.literal("replicas")]),
          ports: z.tuple([z.string()]),
          volumes: z.tuple([z.string()]),
          tmpfs: z.array(z.string()),
          cap_add: z.array(z.string()),
          ...Contained,
        }),
        "gateway-1": Replica,
        "gateway-2": Replica,
        "gateway-3": Replica,
        "gateway-4": Replica,
      }),
      networks: z.object({
        replicas: z.object({ ipam: z.object({ config: z.tuple([z.object({ subnet: z.string() })]) }) }),
      }),
    })
    .parse(replicasFile.toJS());
  const { balancer, ...replicas } = services;
  const [source = "", target] = balancer.volumes[0].split(":");
  expect(target).toBe("/etc/nginx/nginx.conf");
  const configuration = readFileSync(new URL(source, url), "utf8");
  const [, port] = /^ {4}listen (\d+);$/m.exec(configuration) ?? [];
  expect(balancer.ports).toEqual([gateway.ports[0].replace(/\d+$/, port ?? "")]);
  const addresses = Object.values(replicas).map((each) => each.networks.replicas.ipv4_address);
  const servers = [...configuration.matchAll(/^ {4}server (\S+):4000 /gm)].map(([, address]) => address);
  expect(servers).toEqual(addresses);
  const [, network = ""] = /^(.*)\.0\/24$/.exec(networks.replicas.ipam.config[0].subnet) ?? [];
  for (const { environment, networks: own, ...replica } of Object.values(replicas)) {
    expect(own.replicas.ipv4_address.startsWith(`${network}.`)).toBe(true);
    // As in compose.yaml.
    const { ports: _ports, environment: single, ...rest } = gateway;
    expect(replica).toEqual(rest);
    expect(environment).toEqual({ ...single, TRUSTED_PROXIES: "1" });
  }
});

test("memory and time suffice: for the heap, for the drain", () => {
  const { DRAIN_TIMEOUT_MS } = readConfig(environmentWith({}));
  expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(DRAIN_TIMEOUT_MS / 1_000);
  const [, heap] = /^--max-old-space-size=(\d+)$/.exec(gateway.environment["NODE_OPTIONS"] ?? "") ?? [];
  expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(gateway.mem_limit, 10) / 2);
});
