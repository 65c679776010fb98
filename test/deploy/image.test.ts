import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig, SETTINGS } from "../../src/config.ts";
import { NODE_FLAGS } from "../../src/installation.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
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
  // Safe: the tests below start what stands there.
  command: JSON.parse(/^CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
  health: JSON.parse(/^HEALTHCHECK .*?CMD (.*)$/m.exec(last)?.[1] ?? "") as string[],
};

test("the image starts what npm start starts, not as root, for all addresses, at its own port", () => {
  expect(packageJson.scripts.start).toContain(` && exec ${image.command.join(" ")}`);
  expect(image.command).toEqual(["node", ...NODE_FLAGS, "dist/src/main.js"]);
  expect(/^USER (.*)$/m.exec(last)?.[1]).toBe("node");
  expect(last.indexOf("USER node")).toBeLessThan(last.indexOf("CMD ["));
  // Who starts it names the service: with the image's NODE_ENV no demo starts by itself.
  expect(() => readConfig(image.environment)).toThrow(/^UPSTREAM_URL: expected the address of the service/);
  const { HOST, PORT } = readConfig({ ...image.environment, UPSTREAM_URL: "https://service.example" });
  expect([HOST, PORT]).toEqual(["0.0.0.0", image.port]);
  const settings = Object.keys(image.environment).filter((name) => name !== "NODE_ENV");
  expect(SETTINGS).toEqual(expect.arrayContaining(settings));
});

test("the image is built from files that exist and that the context has, by one Node that is supported", () => {
  const context = read(".dockerignore").trim().split("\n");
  expect(context[0]).toBe("*");
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(copied).toEqual(expect.arrayContaining(["schema", "src/http/graphiql/page"]));
  for (const name of copied) {
    expect(context).toContain(`!${name.split("/", 1)[0]}`);
    expect(existsSync(new URL(name, ROOT))).toBe(true);
  }
  const bases = stages.map((stage) => /^FROM (\S+)/.exec(stage)?.[1]);
  expect(new Set(bases)).toEqual(new Set(["${NODE_IMAGE}"]));
  const [, major] = /^ARG NODE_IMAGE=node:(\d+)\.\d+\.\d+-slim$/m.exec(dockerfile) ?? [];
  const [, oldest, tooNew] = /^>=(\d+)\.\d+\.\d+ <(\d+)$/.exec(packageJson.engines.node) ?? [];
  expect(Number(major)).toBeGreaterThanOrEqual(Number(oldest));
  expect(Number(major)).toBeLessThan(Number(tooNew));
});

test("the image has what was built and the packages that it needs, and says which version it is", () => {
  expect(last).toContain("RUN npm ci --omit=dev ");
  expect(last).toContain("COPY --from=build /app/dist ");
  expect(last).toContain(`org.opencontainers.image.version="${packageJson.version}"`);
  // An argument from above the first stage is unknown in a stage that does not name it.
  for (const name of ["NODE_IMAGE", "REVISION"]) expect(last).toMatch(new RegExp(`^ARG ${name}\\b`, "m"));
});

/** Runs the health check of the image against a port. Resolves with whether it is satisfied. */
async function isHealthy(port: string): Promise<boolean> {
  const [shell = "", ...options] = image.health;
  const check = spawn(shell, options, { env: { PATH: process.env["PATH"], PORT: port }, stdio: "ignore" });
  const [code] = (await once(check, "exit")) as [number | null];
  return code === 0;
}

test("the image asks after its own health without starting Node", async () => {
  expect(image.health[0]).toBe("bash");
  const upstream = await startFake(() => undefined);
  const { url } = await startGateway({ upstream });
  expect(await isHealthy(new URL(url).port)).toBe(true);
  const failing = await startFake(() => ({ text: "HTTP/1.1 200 OK", status: 503 }));
  expect(await isHealthy(new URL(failing.url).port)).toBe(false);
  expect(await isHealthy("1")).toBe(false);
});
