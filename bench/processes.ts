import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../test/support/free-port.ts";
import { leaveFirstCore, onCore } from "./cores.ts";
import { commandOf, PRODUCT } from "./product.ts";

export interface Service {
  readonly url: string;
  readonly token: string;
  readonly stop: () => void;
}

export async function startService(): Promise<Service> {
  const child = fork(new URL("./service.ts", import.meta.url), { execArgv: ["--import", "tsx"] });
  const [started] = (await once(child, "message")) as [{ url: string; token: string }];
  return { ...started, stop: () => child.kill() };
}

export interface Running {
  readonly url: string;
  /** Time from start to the first 200 of `/readyz`, in milliseconds. */
  readonly readyMs: number;
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
}

/** Raises the limits per token, because all load has one token. */
const ONE_TOKEN = { MAX_OPERATIONS_PER_TOKEN: "256", UPSTREAM_CONNECTIONS_PER_TOKEN: "128" };

/** The core of the gateway. The load and the service use the other cores. Null: all share the cores. */
const core = leaveFirstCore();

/** Starts the built gateway in its own process, as `npm start` does, and waits until it is ready. */
export async function startGateway(
  service: Service,
  env: Readonly<Record<string, string>> = ONE_TOKEN,
): Promise<Running> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const began = performance.now();
  const [file, parameters] = onCore(core, commandOf(PRODUCT));
  const child = spawn(file, parameters, {
    env: {
      PATH: process.env["PATH"],
      PORT: String(port),
      UPSTREAM_URL: service.url,
      UPSTREAM_PROFILE: "polyaxon-0.4",
      ...env,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  while (!(await isReady(url))) await sleep(5);
  return { url, readyMs: performance.now() - began, child, ended };
}

export async function stopGateway({ child, ended }: Running): Promise<void> {
  child.kill("SIGTERM");
  await ended;
}

/** Reads `/metrics`. */
export const metricsOf = async ({ url }: Running): Promise<string> => (await fetch(`${url}/metrics`)).text();

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
