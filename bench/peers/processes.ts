import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../test/support/free-port.ts";
import { onCore } from "../cores.ts";
import { THIS_NODE } from "../product.ts";
import type { Contestant } from "./contestants.ts";
import { send } from "./load.ts";
import type { Behaviour, Seen } from "./upstream.ts";

export interface StaticService {
  readonly url: string;
  /** Sets the behaviour of the service from now on. Resolves to the counts since the previous call. */
  readonly behave: (behaviour?: Behaviour) => Promise<Seen>;
  readonly stop: () => void;
}

/** Starts the static service. Its responses may be cached for `cacheSeconds`, or not at all if that is undefined. */
export async function startStaticService(cacheSeconds?: number): Promise<StaticService> {
  // The service runs on the cores of this process.
  const parameters = cacheSeconds ? [String(cacheSeconds)] : [];
  const child = fork(new URL("./upstream.ts", import.meta.url), parameters, {
    execArgv: ["--import", "tsx"],
  });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  return {
    url,
    behave: async (behaviour = {}) => {
      child.send(behaviour);
      const [seen] = (await once(child, "message")) as [Seen];
      return seen;
    },
    stop: () => child.kill(),
  };
}

export interface Started {
  readonly contestant: Contestant;
  readonly url: string;
  readonly pid: number;
  readonly stop: () => void;
}

/** Starts a contestant on the core. Resolves to the reason if the contestant does not start. */
export async function start(
  contestant: Contestant,
  service: StaticService,
  core: string | null,
  node = THIS_NODE,
): Promise<Started | string> {
  const port = await freePort();
  const { command, env } = contestant.start({ node, port, service: service.url });
  const [file, parameters] = onCore(core, command);
  const child = spawn(file, parameters, {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { PATH: process.env["PATH"], NODE_ENV: "production", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  // Stops the contestant even if the comparison fails.
  const stop = () => child.kill();
  process.once("exit", stop);
  child.once("exit", () => process.off("exit", stop));
  let complaint = "";
  child.stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (complaint = (complaint + text).slice(-2_000)));
  child.once("error", (error) => (complaint = error.message));
  const url = `http://127.0.0.1:${port}`;
  if (!(await answers(child, url))) return complaint.trim().split("\n")[0] || "it does not respond";
  return { contestant, url, pid: child.pid ?? Number.NaN, stop };
}

/** Waits until the contestant responds. Resolves to false if it exits first, or after 30 s. */
async function answers(child: ChildProcess, url: string): Promise<boolean> {
  const request = {
    body: JSON.stringify({ query: "query Q0 { __typename }", operationName: "Q0", variables: {} }),
    authorization: "token 0",
  };
  for (let attempt = 0; attempt < 300; attempt++) {
    if (child.pid === undefined || child.exitCode !== null) return false;
    const status = await send(url, request).then(
      (answer) => answer.status,
      () => null,
    );
    if (status === 200) return true;
    await sleep(100);
  }
  child.kill();
  return false;
}

/** Unit of CPU times in `/proc`, in milliseconds. */
const TICK_MS = 10;

/** User and system time of a process so far, in milliseconds. */
export const cpuMs = (pid: number): number => {
  // The process name, in brackets, may contain spaces. User and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
};

/** Resident memory of a process, in bytes. */
export const residentBytes = (pid: number): number => {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return Number(kilobytes) * 1_024;
};
