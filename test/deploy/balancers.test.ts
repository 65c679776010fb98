import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startFake } from "../support/fake.ts";
import { freePort } from "../support/free-port.ts";
import { experimentId, RUN_UPDATED } from "../support/live-service.ts";
import { startReady } from "../support/main-process.ts";
import { RUNNING_ANSWER, statusOf } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { JSON_BODY, operationText, sendPlainly } from "../support/raw-requests.ts";
import { type BalancerName, isInstalled, runBalancer } from "../support/run-balancer.ts";
import { subscribe } from "../support/subscriber.ts";

const RUN = /experiments\/(\d+)\/$/;

/** A run for which the service sends no response. */
const STALLED = 43;

/** Starts a service with active runs. It does not respond to commands. */
const startService = () =>
  startFake(({ method, path }) => {
    const [, id] = RUN.exec(path) ?? [];
    if (id === `${STALLED}` || method === "POST") return new Promise(() => {});
    return id === undefined
      ? undefined
      : { json: { id: Number(id), last_status: "running", updated_at: "" } };
  });

/** Four gateways, each on its own port, which it sends to the service in a header. */
async function startReplicas(upstreamUrl: string) {
  const start = async (port: number) => {
    const UPSTREAM_HEADERS = JSON.stringify({ "x-replica": `${port}` });
    const own = { UPSTREAM_URL: upstreamUrl, UPSTREAM_HEADERS, PORT: `${port}` };
    return startReady({ LOG_LEVEL: "error", TRUSTED_PROXIES: "1", ...own });
  };
  const ports = new Set<number>();
  while (ports.size < 4) ports.add(await freePort());
  const running = new Map(
    await Promise.all([...ports].map(async (port) => [port, await start(port)] as const)),
  );
  return {
    ports: [...ports],
    kill: (port: number, signal: NodeJS.Signals) => running.get(port)?.kill(signal),
    ended: (port: number) => running.get(port)?.ended,
    /** The value of a metric at each gateway. */
    metric: (name: string) =>
      Promise.all(
        [...ports].map(async (port) => {
          const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
          const line = metrics.split("\n").find((each) => each.startsWith(`${name} `));
          return Number(line?.split(" ")[1] ?? 0);
        }),
      ),
    /** Replaces the gateways one after the other. Returns their exit codes. */
    roll: async () => {
      const codes: (number | null)[] = [];
      for (const [port, { kill, ended }] of running) {
        kill("SIGTERM");
        codes.push(await ended);
        running.set(port, await start(port));
      }
      return codes;
    },
  };
}

/** Whether a balancer is installed. */
function hasBalancer(name: BalancerName): boolean {
  if (isInstalled(name)) return true;
  process.stderr.write(`\nNOT RUN: the tests with ${name}, for want of it. Install ${name}.\n\n`);
  return false;
}

/** Starts a balancer with its file in `deploy/`. The balancer ends with the test. Resolves with its URL. */
async function startBalancer(...given: Parameters<typeof runBalancer>): Promise<string> {
  const { url, check, stop } = await runBalancer(...given);
  onTestFinished(stop);
  await vi.waitFor(check, LONG_TIMEOUT);
  return url;
}

/** The expected response to the query `statusOf`. */
const RIGHT = `200 ${JSON.stringify(RUNNING_ANSWER)}`;

const TOKENS = Array.from({ length: 12 }, (_, at) => `t${at}`);
const tokenOf = (at: number): string => TOKENS[at % TOKENS.length] ?? "";

/** Sends a request. Resolves with the status and the body, or with the code of the error. */
const post = (url: string, token: string | null, query: string): Promise<string> =>
  sendPlainly(
    `${url}/graphql`,
    { method: "POST", headers: { ...JSON_BODY, ...(token && { authorization: `token ${token}` }) } },
    operationText(query),
  ).then(
    ({ status, body }) => `${status} ${body.toString()}`,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );

/** Opens a WebSocket. Resolves when the connection is established or shuts down, or with the error of the handshake. */
const shakeHands = (url: string, token: string): Promise<string> =>
  new Promise((resolve) => {
    const headers = { authorization: `token ${token}` };
    const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws", {
      headers,
    });
    socket.on("open", () => socket.send('{"type":"connection_init"}'));
    socket.on("message", () => socket.close());
    socket.on("error", ({ message }) => resolve(message));
    socket.on("close", () => resolve(RIGHT));
  });

/** Sends requests at a rate. `stop` resolves with all unexpected responses. */
function keepAsking(perSecond: number, ask: (token: string) => Promise<string>) {
  const asked: Promise<string>[] = [];
  const timer = setInterval(() => asked.push(ask(tokenOf(asked.length))), 1_000 / perSecond);
  return async () => {
    clearInterval(timer);
    const answers = await Promise.all(asked);
    expect(answers.length).toBeGreaterThan(0);
    return answers.filter((answer) => answer !== RIGHT);
  };
}

/** A client that keeps an event stream open as browsers do: it subscribes again when the stream ends or the gateway is busy. */
function keepStream(url: string, token: string, run = 42) {
  const over = new AbortController();
  const leave = () => over.abort();
  const seen = { events: 0, problems: [] as string[], leave };
  onTestFinished(leave);
  const follow = async (): Promise<void> => {
    const stream = await subscribe(url, { query: RUN_UPDATED, variables: { id: experimentId(run) }, token });
    over.signal.addEventListener("abort", stream.leave);
    if (stream.status === 503) return void (await pause(200));
    if (stream.status !== 200) seen.problems.push(`status ${stream.status}`);
    for (let frame = await stream.frame(); frame; frame = await stream.frame()) {
      if (frame.data.includes(`"runUpdated":{`)) seen.events++;
      if (frame.event === "complete") seen.problems.push("completed");
    }
  };
  void (async () => {
    while (!over.signal.aborted)
      await follow().catch((error: NodeJS.ErrnoException) => {
        if (!over.signal.aborted) seen.problems.push(error.code ?? error.message);
        leave();
      });
  })();
  return seen;
}

/** A client that keeps a WebSocket open with the retries of `graphql-ws`. */
function keepSocket(url: string, token: string) {
  const problems: string[] = [];
  const authorization = `token ${token}`;
  const client = createClient({
    url: `${url.replace("http:", "ws:")}/graphql`,
    connectionParams: { authorization },
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { authorization } });
      }
    },
    retryAttempts: 30,
    retryWait: () => pause(200),
    on: {
      // 1001: the replica shuts down. 1006: the balancer has closed the connection.
      closed: (event) => {
        const { code } = event as CloseEvent;
        if (code !== 1001 && code !== 1006 && code !== 1000) problems.push(`closed with ${code}`);
      },
    },
  });
  // While the client connects, `dispose` rejects if the connection fails.
  const leave = () => void Promise.allSettled([client.dispose()]);
  const seen = { events: 0, problems, leave };
  onTestFinished(leave);
  client.subscribe(
    { query: RUN_UPDATED, variables: { id: experimentId(42) } },
    {
      next: () => void seen.events++,
      error: (error) => problems.push(error instanceof Error ? error.message : JSON.stringify(error)),
      complete: () => {},
    },
  );
  return seen;
}

/** Waits until each client has received an event since the call. */
async function allReported(clients: readonly { readonly events: number }[], before: readonly number[]) {
  await vi.waitUntil(() => clients.every(({ events }, at) => events > (before[at] ?? 0)), LONG_TIMEOUT);
}

const NAMES: readonly BalancerName[] = ["nginx", "haproxy"];

describe.each(NAMES)("four replicas behind %s", (name) => {
  test.runIf(hasBalancer(name))(
    "poll once per token and restart under load without visible errors",
    async () => {
      const replicas = await startReplicas((await startService()).url);
      const url = await startBalancer(name, replicas.ports);
      const tabs = Array.from({ length: 16 }, (_, at) =>
        at % 2 === 0 ? keepStream(url, "solo") : keepSocket(url, "solo"),
      );
      await allReported(tabs, []);
      const subscriptions = await replicas.metric("rungraph_subscriptions_running");
      expect(subscriptions.toSorted((one, other) => one - other)).toEqual([0, 0, 0, 16]);
      for (const { leave } of tabs) leave();

      // Polls in flight must not delay other callers.
      const stalled = TOKENS.map((token) => keepStream(url, token, STALLED));
      const clients = Array.from({ length: 24 }, (_, at) => [
        keepStream(url, tokenOf(at)),
        keepSocket(url, tokenOf(at)),
      ]).flat();
      await allReported(clients, []);
      const before = clients.map(({ events }) => events);
      const stops = [
        keepAsking(40, (token) => post(url, token, statusOf(42))),
        keepAsking(40, (token) => shakeHands(url, token)),
      ];
      expect(await replicas.roll()).toEqual([0, 0, 0, 0]);
      // Every client was connected to a replica that has ended.
      await allReported(clients, before);
      for (const stop of stops) expect(await stop()).toEqual([]);
      expect([...clients, ...stalled].flatMap(({ problems }) => problems)).toEqual([]);
      // The clients leave before their gateways end with the test.
      for (const { leave } of [...clients, ...stalled]) leave();
    },
  );

  test.runIf(hasBalancer(name))("keep a token on one replica, whose loss repeats no mutation", async () => {
    const service = await startService();
    const replicas = await startReplicas(service.url);
    const url = await startBalancer(name, replicas.ports);
    const ask = (token: string) => post(url, token, statusOf(42));
    /** The replicas that have sent requests with a token. */
    const replicasOf = (token: string) => {
      const seen = service.seen().filter(({ headers }) => headers["authorization"] === `token ${token}`);
      return [...new Set(seen.map(({ headers }) => Number(headers["x-replica"])))];
    };
    const tokens = Array.from({ length: 40 }, (_, at) => `s${at}`);
    for (const token of [...tokens, ...tokens]) expect(await ask(token)).toBe(RIGHT);
    expect(tokens.map((token) => replicasOf(token).length)).toEqual(tokens.map(() => 1));
    expect(new Set(tokens.flatMap(replicasOf))).toEqual(new Set(replicas.ports));
    // Without a token, the address selects the replica.
    const typename = `rungraph_operations_total{type="query",code="OK"}`;
    const before = await replicas.metric(typename);
    for (let round = 0; round < 8; round++) await post(url, null, "{ __typename }");
    const after = await replicas.metric(typename);
    expect(after.filter((count, at) => count !== before[at])).toHaveLength(1);

    const [writer = "", sleeper = ""] = replicas.ports.map(
      (port) => tokens.find((token) => replicasOf(token).includes(port)) ?? "",
    );
    const [[killed = 0], [hanging = 0]] = [replicasOf(writer), replicasOf(sleeper)];
    const command = `mutation { stopJob(id: "ada.mnist.jobs.1", force: true) { job { id } } }`;
    const written = post(url, writer, command);
    const commands = () => service.seen().filter(({ method }) => method === "POST");
    await vi.waitUntil(() => commands().length === 1, LONG_TIMEOUT);
    replicas.kill(killed, "SIGKILL");
    expect(await written).toMatch(/^50[24] /);
    expect(commands()).toHaveLength(1);
    await replicas.ended(killed);
    for (const token of tokens) expect(await ask(token)).toBe(RIGHT);
    expect(replicasOf(writer)).toEqual([killed, expect.any(Number)]);

    // The read timeout of this balancer is 1 s instead of 40 s.
    const hasty = await startBalancer(name, replicas.ports, (file) =>
      file.replace("proxy_read_timeout 40s", "proxy_read_timeout 1s"),
    );
    replicas.kill(hanging, "SIGSTOP");
    await vi.waitUntil(async () => {
      const answer = post(hasty, sleeper, statusOf(42));
      return (await Promise.race([answer, pause(2_000, "later")])) === RIGHT;
    }, LONG_TIMEOUT);
    replicas.kill(hanging, "SIGCONT");
    expect(commands()).toHaveLength(1);
  });
});
