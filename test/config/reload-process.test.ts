import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createGateway } from "../../src/index.ts";
import { createFolder } from "../support/build.ts";
import { startFake } from "../support/fake.ts";
import { listen } from "../support/listen.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";
import { PATIENT } from "../support/patience.ts";

/** A Secret as Kubernetes mounts it: the files are links through `..data`, which is replaced as a whole. */
function mountSecret(first: Readonly<Record<string, string>>) {
  const folder = createFolder("secret-");
  let version = 0;
  const write = (files: Readonly<Record<string, string>>): void => {
    const before = `..v${version}`;
    const now = `..v${++version}`;
    mkdirSync(join(folder, now));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, now, name), text);
    symlinkSync(now, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    rmSync(join(folder, before), { recursive: true, force: true });
  };
  write(first);
  for (const name of Object.keys(first)) symlinkSync(join("..data", name), join(folder, name));
  return { pathOf: (name: string) => join(folder, name), write };
}

/** A gateway whose headers are in a mounted Secret, in front of a service that tells the key which it is sent. */
async function start(environment: Record<string, string> = {}) {
  const service = await startFake(({ headers }) => ({ json: { username: headers["x-api-key"] } }));
  const secret = mountSecret({ headers: `{"x-api-key": "key-1"}\n` });
  const gateway = startMain({
    PORT: "0",
    UPSTREAM_URL: service.url,
    UPSTREAM_HEADERS_FILE: secret.pathOf("headers"),
    RELOAD_INTERVAL_MS: "0",
    ...environment,
  });
  const [, url = ""] = await gateway.printed(READY_LINE);
  /** The key that the service is sent, on a connection of its own. */
  const key = async (): Promise<unknown> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "token t0ken", connection: "close" },
      body: JSON.stringify({ query: "{ viewer { username } }" }),
    });
    const { data } = (await response.json()) as { data: { viewer: { username: string } } };
    return data.viewer.username;
  };
  const times = (message: string) => gateway.out().split(`"msg":"${message}"`).length - 1;
  const told = (message: string, count: number) => vi.waitUntil(() => times(message) >= count, PATIENT);
  const rotate = (text: string) => secret.write({ headers: text });
  return { ...gateway, url, key, rotate, told };
}

describe("a gateway as a process", () => {
  test("reads its files again on SIGHUP, as often as it is told, and ends with code 0", async () => {
    const { key, rotate, told, kill, ended, out, err } = await start();
    expect(await key()).toBe("key-1");
    rotate(`{"x-api-key": "key-2"}\n`);
    expect(await key()).toBe("key-1");
    kill("SIGHUP");
    await told("settings reloaded", 1);
    expect(await key()).toBe("key-2");
    rotate("canary");
    kill("SIGHUP");
    await told("settings not reloaded", 1);
    expect(await key()).toBe("key-2");
    rotate(`{"x-api-key": "key-3"}\n`);
    kill("SIGHUP");
    await told("settings reloaded", 2);
    expect(await key()).toBe("key-3");
    kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(out() + err()).not.toMatch(/canary|key-\d/);
  });

  test("reads its files again when Kubernetes has replaced them", async () => {
    const { key, rotate, told } = await start({ RELOAD_INTERVAL_MS: "20" });
    expect(await key()).toBe("key-1");
    // As long as before.
    rotate(`{"x-api-key": "key-2"}\n`);
    await told("settings reloaded", 1);
    expect(await key()).toBe("key-2");
    rotate("canary");
    await told("settings not reloaded", 1);
    expect(await key()).toBe("key-2");
    rotate(`{"x-api-key": "key-3"}\n`);
    await told("settings reloaded", 2);
    expect(await key()).toBe("key-3");
  });
});

test("a gateway in another server reads its files again when they have changed", async () => {
  const service = await startFake(({ headers }) => ({ json: { username: headers["x-api-key"] } }));
  const secret = mountSecret({ headers: `{"x-api-key": "key-1"}` });
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const settings = {
    UPSTREAM_URL: service.url,
    UPSTREAM_HEADERS_FILE: secret.pathOf("headers"),
    RELOAD_INTERVAL_MS: 20,
  };
  const log = { debug: write, info: write, warn: write, error: write };
  const gateway = await createGateway(settings, { log });
  onTestFinished(gateway.close);
  const url = await listen(gateway.handler);
  const headers = { authorization: "token t0ken" };
  const ask = async () => (await fetch(`${url}/graphql?query={viewer{username}}`, { headers })).json();
  expect(await ask()).toEqual({ data: { viewer: { username: "key-1" } } });
  secret.write({ headers: `{"x-api-key": "key-2"}` });
  await vi.waitUntil(() => lines.includes("settings reloaded"), PATIENT);
  expect(await ask()).toEqual({ data: { viewer: { username: "key-2" } } });
});
