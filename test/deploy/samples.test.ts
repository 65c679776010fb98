import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig, SETTINGS } from "../../src/config.ts";
import { NODE_FLAGS } from "../../src/package-info.ts";
import { startReady } from "../support/main-process.ts";
import { ADDRESSES } from "../support/listen.ts";
import { KUSTOMIZE, parseYaml, readSample } from "./samples.ts";

const ROOT = new URL("../../", import.meta.url);
const UPSTREAM_URL = "https://tracker.example.com";

/** The matches of a pattern in a string, as names and values. */
const found = (text: string, pattern: RegExp): Record<string, string> =>
  Object.fromEntries([...text.matchAll(pattern)].map(([, name = "", value = ""]) => [name, value]));

const dockerPage = readFileSync(new URL("docs/docker.md", ROOT), "utf8");
const dockerfile = readFileSync(new URL("Dockerfile", ROOT), "utf8");
const last = dockerfile.split(/^FROM /m).at(-1) ?? "";
const image = {
  environment: found(/^ENV .*$/m.exec(last)?.[0] ?? "", /(\w+)=(\S+)/g),
  // Safe: the tests below start this command.
  command: JSON.parse(/^CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
  health: JSON.parse(/^HEALTHCHECK .*?CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
};

const { gateway } = parseYaml("compose.yaml").services;
const { services: replicas } = parseYaml("compose.replicas.yaml");

/** The variables of a gateway with this service in its file of variables, including those of the image. */
const composed = (
  service: { readonly environment: Readonly<Record<string, string>> },
  upstreamUrl: string,
): Record<string, string> => ({
  ...image.environment,
  UPSTREAM_URL: upstreamUrl,
  ...service.environment,
});

const unit = readSample("systemd/rungraph@.service");
const ofUnit = found(unit, /^(\w+)=(\d.*)$/gm);

const { container, environment, template } = KUSTOMIZE;
const [, pause] = container.lifecycle.preStop.exec.command;

/** Environments with the number of seconds until a gateway is killed, and its memory in megabytes. */
const samples = [
  ...Object.entries({ "compose.yaml": gateway, "compose.replicas.yaml": replicas["gateway-1"] }).map(
    ([name, service]) => ({
      name,
      environment: composed(service, UPSTREAM_URL),
      seconds: service.stop_grace_period,
      memory: service.mem_limit,
    }),
  ),
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

test.each(samples)("$name has valid settings, enough time to drain, and spare memory", (sample) => {
  const { NODE_ENV: _, NODE_OPTIONS: options, ...settings } = sample.environment;
  expect(SETTINGS).toEqual(expect.arrayContaining(Object.keys(settings)));
  const config = readConfig({ ...sample.environment });
  // Without this setting, the gateway would start a demo.
  expect(config.UPSTREAM_URL?.href).toBe(`${UPSTREAM_URL}/`);
  expect(Number.parseInt(sample.seconds, 10) * 1_000).toBeGreaterThan(config.DRAIN_TIMEOUT_MS);
  const [, heap] = /^--max-old-space-size=(\d+)$/.exec(options ?? "") ?? [];
  expect(Number(heap)).toBeLessThanOrEqual(Number.parseInt(sample.memory, 10) / 2);
});

test("Compose reads the settings file of docs/docker.md, and overrides no setting", () => {
  const [, file = ""] = /^cat > deploy\/(\S+) /m.exec(dockerPage) ?? [];
  for (const { env_file: files, environment: own } of [gateway, replicas["gateway-1"]]) {
    expect(files).toEqual([{ path: file, required: false }]);
    expect(Object.keys(own).filter((name) => name.startsWith("UPSTREAM_"))).toEqual([]);
  }
  expect(readFileSync(new URL(".gitignore", ROOT), "utf8").split("\n")).toContain(`deploy/${file}`);
});

test("the image has one name in deploy/ and on all pages", () => {
  const pages = ["docs/docker.md", "docs/operations.md", "docs/scaling.md", "README.md"];
  const files = ["compose.yaml", "compose.replicas.yaml", "kustomize/base/deployment.yaml"];
  const texts = [
    ...pages.map((page) => readFileSync(new URL(page, ROOT), "utf8")),
    ...files.map((file) => readSample(file)),
  ];
  const names = texts.flatMap((text) => [
    ...text.matchAll(/(?:--tag|image:|docker tag|-config`?\n|\.env) (rungraph\S*)/g),
  ]);
  expect(names.length).toBeGreaterThan(6);
  expect(new Set(names.map(([, name]) => name))).toEqual(new Set([`rungraph:${packageJson.version}`]));
});

test("each sample and the image have the current version", () => {
  const [tag] = parseYaml("kustomize/example/kustomization.yaml").images;
  const label = /org\.opencontainers\.image\.version="([^"]+)"/.exec(last)?.[1];
  const images = [gateway, replicas["gateway-1"], container].map((each) => each.image);
  expect([...images, `rungraph:${tag.newTag}`, `rungraph:${label}`]).toEqual(
    Array(5).fill(`rungraph:${packageJson.version}`),
  );
});

test("the image runs the command of npm start, without root or demo", () => {
  expect(packageJson.scripts.start).toContain(` && exec ${image.command.join(" ")}`);
  expect(image.command).toEqual(["node", ...NODE_FLAGS, "dist/src/main.js"]);
  expect(last).toMatch(/^USER node$[^]*^CMD \[/m);
  expect(() => readConfig(image.environment)).toThrow(/^UPSTREAM_URL: expected the address of the service/);
  // Copied files exist, and the context has them.
  const context = readFileSync(new URL(".dockerignore", ROOT), "utf8").split("\n");
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(copied).toEqual(expect.arrayContaining(["schema", "src/http/graphiql/page"]));
  const isThere = (name: string) =>
    context.includes(`!${name.split("/", 1)[0]}`) && existsSync(new URL(name, ROOT));
  expect(copied.filter((name) => !isThere(name))).toEqual([]);
});

test("the image answers on IPv4 and IPv6, and its health check passes", async () => {
  const { url } = await startReady({ ...image.environment, DEMO: "on", PORT: "0" });
  const { port, hostname } = new URL(url);
  expect(hostname).toBe("127.0.0.1");
  for (const host of ADDRESSES)
    expect(await (await fetch(`http://${host}:${port}/readyz`)).text()).toBe("ready\n");
  const [command = "", ...args] = image.health;
  execFileSync(command, args, { env: { PORT: port } });
});
