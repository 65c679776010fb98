import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "./build.ts";
import { freePort } from "./free-port.ts";

/** Debian installs both programs in a folder that only root has in its `PATH`. */
const ENVIRONMENT = { PATH: `${process.env["PATH"]}:/usr/sbin` };

/** Matches the addresses of replicas in the files of `deploy/`. */
const REPLICA = /172\.31\.250\.1[1-4]:4000/g;

/** The file of each balancer in `deploy/`, and how a test runs it. */
const BALANCERS = {
  nginx: {
    file: "nginx.conf",
    // With one worker process, all requests know that a replica has refused a connection. The default folders of nginx belong to root.
    adapt: (text: string, folder: string) =>
      text
        .replace("worker_processes auto;", `worker_processes 1;\npid ${folder}/pid;`)
        .replace(
          "http {",
          `http {\n  access_log off;\n${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map((name) => `  ${name}_temp_path ${folder}/${name};\n`)
            .join("")}`,
        ),
    args: (file: string) => ["-c", file, "-e", "stderr", "-g", "daemon off;"],
  },
  haproxy: {
    file: "haproxy.cfg",
    adapt: (text: string) => text,
    args: (file: string) => ["-db", "-f", file],
  },
} as const;

export type BalancerName = keyof typeof BALANCERS;

/** The content of the balancer's file in `deploy/`. */
const fileOf = (name: BalancerName): string =>
  readFileSync(new URL(`../../deploy/${BALANCERS[name].file}`, import.meta.url), "utf8");

export const isInstalled = (name: BalancerName): boolean =>
  spawnSync(name, ["-v"], { env: ENVIRONMENT }).status === 0;

/** Starts a balancer with its file of `deploy/`. Replaces addresses and ports in the file, and applies `change`. */
export async function runBalancer(
  name: BalancerName,
  replicas: readonly number[],
  change = (text: string): string => text,
) {
  const { file, adapt, args } = BALANCERS[name];
  const folder = createFolder("balancer-");
  const port = await freePort();
  const addresses = replicas.values();
  const text = change(fileOf(name))
    .replace(REPLICA, () => `127.0.0.1:${addresses.next().value}`)
    .replace("listen 8080", `listen 127.0.0.1:${port}`)
    .replace("listen [::]:8080", `listen [::1]:${port}`)
    .replace("bind [::]:8080", `bind [::]:${port}`);
  const path = join(folder, file);
  writeFileSync(path, adapt(text, folder));
  const child = spawn(name, args(path), { env: ENVIRONMENT, stdio: ["ignore", "inherit", "pipe"] });
  const ended = once(child, "exit");
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    /** Rejects unless the balancer forwards requests. */
    check: async (): Promise<void> => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${output}`);
      const { status } = await fetch(`${url}/graphql?query={__typename}`);
      if (status !== 200) throw new Error(`${name} answers ${status}`);
    },
    stop: async (): Promise<void> => {
      // SIGKILL would leave the worker process of nginx running.
      child.kill("SIGTERM");
      await ended;
    },
  };
}
