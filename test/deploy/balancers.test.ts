import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { readConfig } from "../../src/config.ts";
import { readPage } from "../docs/page.ts";
import { type BalancerName, fileOf, hasBalancer, startBalancer } from "../support/balancer.ts";
import { startFake } from "../support/fake.ts";
import { freePort } from "../support/free-port.ts";
import { experimentId, RUN_UPDATED } from "../support/live-service.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";
import { RUNNING_ANSWER, statusOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";

const RUN = /experiments\/(\d+)\/$/;

/** A run that the service does not answer for. */
const HELD = 43;

/** A service whose runs go on. */
const startService = () =>
  startFake(({ path }) => {
    const [, id] = RUN.exec(path) ?? [];
    if (id === `${HELD}`) return new Promise(() => {});
    return id === undefined
      ? undefined
      : { json: { id: Number(id), last_status: "running", updated_at: "" } };
  });

/** Four gateways on ports of their own, each of which can be restarted. */
async function startReplicas(environment: Record<string, string>) {
  const ports: number[] = [];
  while (ports.length < 4) {
    const port = await freePort();
    if (!ports.includes(port)) ports.push(port);
  }
  const start = async (port: number) => {
    const main = startMain({ LOG_LEVEL: "error", TRUSTED_PROXIES: "1", PORT: `${port}`, ...environment });
    await main.printed(READY_LINE);
    return main;
  };
  const running = await Promise.all(ports.map(start));
  return {
    ports,
    /** How many subscriptions each has, in ascending order. */
    subscriptions: async () => {
      const counts = await Promise.all(
        ports.map(async (port) => {
          const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
          return Number(/^rungraph_subscriptions_running (\d+)$/m.exec(metrics)?.[1]);
        }),
      );
      return counts.toSorted((one, other) => one - other);
    },
    /** Replaces one after the other, and gives the codes with which they end. */
    roll: async () => {
      const codes: (number | null)[] = [];
      for (const [at, port] of ports.entries()) {
        running[at]?.kill("SIGTERM");
        codes.push((await running[at]?.ended) ?? null);
        running[at] = await start(port);
      }
      return codes;
    },
  };
}

const TOKENS = Array.from({ length: 12 }, (_, at) => `token t${at}`);
const tokenOf = (at: number): string => TOKENS[at % TOKENS.length] ?? "";

/** Sends a request on a kept connection. Resolves with the status and the body, or with the code of the error. */
function post(agent: Agent, url: string, authorization: string, query: string) {
  return new Promise<string>((resolve) => {
    const sent = request(`${url}/graphql`, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", authorization },
    });
    sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.on("response", (response) =>
      text(response).then(
        (body) => resolve(`${response.statusCode} ${body}`),
        (error: Error) => resolve(error.message),
      ),
    );
    sent.end(JSON.stringify({ query }));
  });
}

/** Queries at a rate. `stop` resolves with all answers that were not the right one. */
function keepAsking(url: string, perSecond: number) {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const right = `200 ${JSON.stringify(RUNNING_ANSWER)}`;
  const asked: Promise<string>[] = [];
  const timer = setInterval(
    () => asked.push(post(agent, url, tokenOf(asked.length), statusOf(42))),
    1_000 / perSecond,
  );
  return async () => {
    clearInterval(timer);
    const answers = await Promise.all(asked);
    expect(answers.length).toBeGreaterThan(0);
    return answers.filter((answer) => answer !== right);
  };
}

/** A client that keeps an event stream, as browsers do: it subscribes again when the stream ends or is busy. */
function keepStream(url: string, authorization: string, run = 42) {
  const over = new AbortController();
  let current: IncomingMessage | null = null;
  const leave = () => {
    over.abort();
    current?.destroy();
  };
  const seen = { events: 0, faults: [] as string[], leave };
  onTestFinished(leave);
  const follow = async (): Promise<void> => {
    const sent = request(`${url}/graphql`, {
      agent: false,
      method: "POST",
      headers: { accept: "text/event-stream", "content-type": "application/json", authorization },
    });
    sent.end(JSON.stringify({ query: RUN_UPDATED, variables: { id: experimentId(run) } }));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    current = response;
    if (response.statusCode === 503) await new Promise((resolve) => setTimeout(resolve, 200));
    else if (response.statusCode !== 200) seen.faults.push(`status ${response.statusCode}`);
    for await (const piece of response.setEncoding("utf8") as AsyncIterable<string>) {
      if (response.statusCode === 200 && piece.includes(`"runUpdated":{`)) seen.events++;
      if (piece.includes("event: complete") && response.statusCode === 200) seen.faults.push("completed");
    }
  };
  void (async () => {
    while (!over.signal.aborted)
      await follow().catch((error: NodeJS.ErrnoException) => {
        if (over.signal.aborted) return;
        seen.faults.push(error.code ?? error.message);
        over.abort();
      });
  })();
  return seen;
}

/** A client that keeps a WebSocket by the retries of `graphql-ws`. */
function keepSocket(url: string, authorization: string) {
  const faults: string[] = [];
  const client = createClient({
    url: `${url.replace("http:", "ws:")}/graphql`,
    connectionParams: { authorization },
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { authorization } });
      }
    },
    retryAttempts: 30,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 200)),
    on: {
      // 1006: the upgrade was rejected. 1001: the replica goes.
      closed: (event) => {
        const { code } = event as CloseEvent;
        if (code !== 1001 && code !== 1006 && code !== 1000) faults.push(`closed with ${code}`);
      },
    },
  });
  const seen = { events: 0, faults, leave: () => void client.dispose() };
  onTestFinished(seen.leave);
  client.subscribe(
    { query: RUN_UPDATED, variables: { id: experimentId(42) } },
    {
      next: () => void seen.events++,
      error: (error) => faults.push(error instanceof Error ? error.message : JSON.stringify(error)),
      complete: () => {},
    },
  );
  return seen;
}

/** Waits until each has been told something since the call. */
async function allTold(clients: readonly { readonly events: number }[], before: readonly number[]) {
  await vi.waitUntil(() => clients.every(({ events }, at) => events > (before[at] ?? 0)), PATIENT);
}

/** The first number behind `name` in a file, in milliseconds: it is in seconds there. */
const secondsIn = (file: string, name: string): number =>
  1_000 * Number(new RegExp(`^ *${name} (\\d+)s;?$`, "m").exec(file)?.[1]);

test("the files of the balancers are in tune with the settings", () => {
  const { KEEP_ALIVE_TIMEOUT_MS, UPSTREAM_IDLE_TIMEOUT_MS, MAX_BODY_BYTES } = readConfig({});
  const nginx = fileOf("nginx");
  const haproxy = fileOf("haproxy");
  expect(secondsIn(nginx, "keepalive_timeout")).toBeLessThan(KEEP_ALIVE_TIMEOUT_MS);
  expect(secondsIn(nginx, "proxy_read_timeout")).toBeGreaterThan(UPSTREAM_IDLE_TIMEOUT_MS);
  expect(secondsIn(haproxy, "timeout server")).toBeLessThan(KEEP_ALIVE_TIMEOUT_MS);
  for (const name of ["server", "client", "tunnel"])
    expect(secondsIn(haproxy, `timeout ${name}`)).toBeGreaterThan(UPSTREAM_IDLE_TIMEOUT_MS);
  const [, megabytes] = /client_max_body_size (\d+)m;/.exec(nginx) ?? [];
  expect(Number(megabytes) * 2 ** 20).toBeGreaterThan(MAX_BODY_BYTES);
});

test("the snippets of docs/operations.md are parts of these files", () => {
  const files: Record<string, string> = { nginx: fileOf("nginx"), haproxy: fileOf("haproxy") };
  const { blocks } = readPage("docs/operations.md");
  const snippets = blocks.filter(({ language }) => language in files);
  expect(snippets.map(({ language }) => language)).toEqual(["nginx", "haproxy"]);
  for (const { language, text: snippet } of snippets)
    for (const line of snippet.trim().split("\n")) expect(files[language]).toContain(line.trim());
});

const NAMES: readonly BalancerName[] = ["nginx", "haproxy"];

describe.each(NAMES)("four replicas behind %s", (name) => {
  test.runIf(hasBalancer(name))(
    "have each token at one of them, and are replaced one by one under load without a fault that a caller sees",
    async () => {
      const service = await startService();
      const replicas = await startReplicas({ UPSTREAM_URL: service.url });
      const { url } = await startBalancer(name, replicas.ports);
      // Tabs of one user share a replica, which polls once for all of them.
      const tabs = Array.from({ length: 16 }, () => keepStream(url, "token solo"));
      await allTold(tabs, []);
      expect(await replicas.subscriptions()).toEqual([0, 0, 0, 16]);
      for (const { leave } of tabs) leave();

      // Polls under way hold up nobody.
      const held = TOKENS.map((token) => keepStream(url, token, HELD));
      const streams = Array.from({ length: 60 }, (_, at) => keepStream(url, tokenOf(at)));
      const sockets = Array.from({ length: 60 }, (_, at) => keepSocket(url, tokenOf(at)));
      const clients = [...streams, ...sockets];
      await allTold(clients, []);
      const before = clients.map(({ events }) => events);
      const stop = keepAsking(url, 40);
      expect(await replicas.roll()).toEqual([0, 0, 0, 0]);
      // All were connected to a replica that went.
      await allTold(clients, before);
      expect(await stop()).toEqual([]);
      expect([...clients, ...held].flatMap(({ faults }) => faults)).toEqual([]);
      // Before their gateways end with the test.
      for (const { leave } of [...clients, ...held]) leave();
    },
  );
});
