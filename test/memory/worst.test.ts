import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { cases } from "../support/cases.ts";
import { openSocket } from "../support/admission.ts";
import { startFake } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { mainIn } from "../support/main-process.ts";
import { statusOf } from "../http/raw-socket.ts";
import WORST_OPERATIONS from "./worst-operations.json" with { type: "json" };

/** The heap of a process in the files of `deploy`, in megabytes. */
const HEAP = 384;

const at = "2026-01-01T00:00:00Z";
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Expands `90 × [a#: id]` to 90 selections, each with its number in place of `#`. */
const writtenOut = (query: string): string =>
  query.replaceAll(/(\d+) × \[(.*?)\](?= )/g, (_, count: string, part: string) =>
    numbers(Number(count))
      .map((number) => part.replaceAll("#", `${number}`))
      .join(" "),
  );

const project = { id: 1, uuid: "p", name: "mnist", unique_name: "ada.mnist", user: "ada", created_at: at };

const experiment = (id: number) => ({
  id,
  uuid: `e${id}`,
  unique_name: `ada.mnist.${id}`,
  user: "ada",
  project: "ada.mnist",
  description: "d".repeat(2_000),
  created_at: at,
  updated_at: at,
  started_at: at,
  last_status: "running",
  declarations: { lr: id },
  tags: id === 1 ? numbers(1_000).map((tag) => `t${tag}`) : ["a"],
  last_metric: Object.fromEntries(numbers(id === 1 ? 5_000 : 10).map((name) => [`m${name}`, id])),
});

const page = (results: readonly unknown[]) => ({ json: { count: results.length, next: null, results } });

/** Starts a service with a project of 500 runs, each with the metrics of a long run. One of the runs has very many values. */
function startRuns() {
  const runs = numbers(500).map((index) => experiment(index + 1));
  const metrics = numbers(20_000).map((id) => ({
    id,
    created_at: at,
    values: Object.fromEntries(numbers(5).map((name) => [`m${name}`, id])),
  }));
  const statuses = metrics.map(({ id }) => ({ id, created_at: at, status: "running" }));
  const jobs = [{ id: 1, uuid: "j", created_at: at, node_scheduled: "node", last_status: "running" }];
  const nodes = numbers(200).map((sequence) => ({ sequence, name: "node" }));
  return startFake(({ path }) => {
    const { pathname } = new URL(path, "http://service");
    const [, id, below] = /\/experiments\/(\d+)\/(\w*)/.exec(`${pathname}/`) ?? [];
    if (below === "metrics") return page(metrics);
    if (below === "statuses") return page(statuses);
    if (below === "jobs") return page(jobs);
    if (pathname.endsWith("/cluster/")) return { json: { nodes } };
    if (id !== undefined) return { json: experiment(Number(id)) };
    return pathname.endsWith("/experiments") ? page(runs) : { json: project };
  });
}

/** Starts a gateway with this heap, by default the one in the files of `deploy`. */
async function start(heap = HEAP, upstream: string | null = null) {
  const serviceUrl = upstream ?? (await startRuns()).url;
  const env = {
    UPSTREAM_PROFILE: "polyaxon-0.4",
    UPSTREAM_RATE_LIMIT: "off",
    // The deadline is long, so that it does not reduce the load on a slow machine.
    REQUEST_TIMEOUT_MS: "600000",
  };
  const program = [`--max-old-space-size=${heap}`, "--max-semi-space-size=32", mainIn(BUILT)];
  const gateway = await startGatewayProcess(serviceUrl, env, program);
  onTestFinished(gateway.kill);
  return gateway;
}

/** Reads a whole response and returns its status. The gateway may break the response off, but must not crash. */
const read = async (url: string, init: RequestInit): Promise<number> => {
  try {
    const response = await fetch(url, init);
    for await (const _ of response.body ?? []);
    return response.status;
  } catch {
    return 0;
  }
};

test("with the heap size set in deploy, survives the worst operations concurrently", async () => {
  const { url, expectAlive } = await start();
  for (const { name, query, accept, isSignedIn } of WORST_OPERATIONS) {
    const headers = {
      "content-type": "application/json",
      accept,
      ...(isSignedIn && { authorization: "token t0ken" }),
    };
    const init = { method: "POST", headers, body: JSON.stringify({ query: writtenOut(query) }) };
    const status = await read(`${url}/graphql`, init);
    expect({ name, isAnswered: status > 0 }).toEqual({ name, isAnswered: true });
    await Promise.all(numbers(cases(4, 16)).map(() => read(`${url}/graphql`, init)));
    await expectAlive();
  }
});

test("with the heap size set in deploy, survives unverified callers' long documents", async () => {
  const { url, expectAlive } = await start();
  const ask = (token: number, body: string) =>
    read(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body,
    });
  const names = (token: number) => numbers(1_300).map((name) => `f${token}_${name}:name`);
  const long = (token: number) =>
    `{"query":"{ project(id: \\"ada.mnist\\") { ${names(token).join(" ")} } }"}`;
  expect(await Promise.all(numbers(250).map((token) => ask(token, long(token))))).not.toContain(0);
  const many = `[${"{},".repeat(84_000)}{}]`;
  const body = `{"query":"{ viewer { username } }","variables":{"many":${many}}}`;
  expect(await Promise.all(numbers(100).map((token) => ask(token, body)))).not.toContain(0);
  const greet = async (token: number) => {
    const { socket } = await openSocket({ url }, { token: `${token}`, byHeader: true }, false);
    // Only `subscribe` messages may be this long. A longer message of any other type closes the socket with 4400.
    const payload = `{"query":"{ viewer { username } }","variables":{"many":${many}}}`;
    socket.send(`{"type":"connection_init"}`);
    await once(socket, "message");
    socket.send(`{"id":"1","type":"subscribe","payload":${payload}}`);
    await once(socket, "message");
  };
  await Promise.all(numbers(100).map(greet));
  await expectAlive();
});

test("survives long bodies in short chunks", async () => {
  const { url, expectAlive } = await start(HEAP / 4);
  const body = `{"query":"{ __typename }"}`.padEnd(250_000).replaceAll(/.{20}/g, "14\r\n$&\r\n");
  const head = ["POST /graphql HTTP/1.1", "Host: a", "Content-Type: application/json"];
  const post = () => statusOf(url, ...head, "Transfer-Encoding: chunked", "", `${body}0`);
  expect(await Promise.all(numbers(6).map(post))).toEqual(numbers(6).map(() => "200 OK"));
  await expectAlive();
});

test("with the heap size set in deploy, exports metrics of long runs", async () => {
  const { url, expectAlive } = await start();
  const headers = { authorization: "token t0ken" };
  const response = await fetch(`${url}/export/ada.mnist/metrics.csv?columns=description,value`, { headers });
  expect(response.status).toBe(200);
  let bytes = 0;
  // The test reads 100 MB of 100 GB.
  for await (const chunk of response.body ?? []) if ((bytes += chunk.length) > 100_000_000) break;
  await expectAlive();
});

/** Maximum resident memory of a process whose heap is bounded: far below the limit in the files of `deploy`, in bytes. */
const MAX_RESIDENT = 700_000_000;

test("oversized responses are released with the heap size of deploy", async () => {
  const long = Buffer.alloc(11_000_000, " ");
  const runs = numbers(100).map((index) => experiment(index + 2));
  const service = await startFake(({ path }) => (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(path.includes("/metrics") ? long : JSON.stringify(page(runs).json));
  });
  const { url, expectAlive } = await start(HEAP, service.url);
  const residentBytes = async () => {
    const text = await fetch(`${url}/metrics`).then((each) => each.text());
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]);
  };
  const leaving = new AbortController();
  const exports = numbers(48).map((index) =>
    read(`${url}/export/ada.mnist/metrics.csv`, {
      headers: { authorization: `token t${index % 8}` },
      signal: leaving.signal,
    }),
  );
  let resident = 0;
  while (service.seen().length < 400) resident = Math.max(resident, await residentBytes());
  leaving.abort();
  await Promise.all(exports);
  expect(resident).toBeLessThan(MAX_RESIDENT);
  await expectAlive();
});
