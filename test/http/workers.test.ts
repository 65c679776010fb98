import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { readVersion } from "../../src/installation.ts";
import { startFake } from "../support/fake.ts";
import { startHoldingRecords } from "../support/holding.ts";
import { listen } from "../support/listen.ts";
import { DEMO_TOKEN, READY_LINE, startMain } from "../support/main-process.ts";
import { statusOf } from "../support/one-read.ts";

const version = readVersion();

/** Sends a request on a connection of its own: connections go to the workers in turn. */
async function send(url: string, query?: string, token = "t0ken") {
  const sent = request(url, {
    agent: false,
    method: query === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", authorization: `token ${token}` },
  });
  sent.end(query === undefined ? undefined : JSON.stringify({ query }));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const STATUS = statusOf(42);
const RUNNING = JSON.stringify({ data: { experiment: { status: "RUNNING" } } });
const READY = /"pid":(\d+),"msg":"worker ready"/g;

/** A gateway with two workers. */
async function startTwo(environment: Record<string, string> = {}) {
  const main = startMain({ PORT: "0", WORKERS: "2", DRAIN_TIMEOUT_MS: "3600000", ...environment });
  const [, url = ""] = await main.printed(READY_LINE);
  await main.printed(/(?:"worker ready"[^]*){2}/);
  return {
    ...main,
    url,
    origin: new URL(url).origin,
    /** The process ids of all workers so far. */
    pids: () => [...main.out().matchAll(READY)].map(([, pid]) => Number(pid)),
  };
}

const count = (metrics: string, line: string) =>
  Number(
    metrics
      .split("\n")
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length),
  );

describe("two workers", () => {
  test("each run as many operations as the limits allow one process, and report their metrics as one", async () => {
    const service = await startHoldingRecords();
    const { url, origin } = await startTwo({ UPSTREAM_URL: service.url, MAX_OPERATIONS: "1" });
    const first = send(url, STATUS);
    await service.arrived(1);
    const second = send(url, STATUS);
    await service.arrived(2);
    expect((await send(url, STATUS)).status).toBe(503);
    expect((await send(url, STATUS)).status).toBe(503);
    const during = (await send(`${origin}/metrics`)).body;
    expect(count(during, "rungraph_operations_running")).toBe(2);
    expect(count(during, `rungraph_operations_total{type="unread",code="SERVICE_OVERLOADED"}`)).toBe(2);
    expect(count(during, "rungraph_circuit_open")).toBe(0);
    service.release();
    expect([(await first).body, (await second).body]).toEqual([RUNNING, RUNNING]);
    for (const _ of [1, 2]) {
      const after = (await send(`${origin}/metrics`)).body;
      expect(count(after, `rungraph_operations_total{type="query",code="OK"}`)).toBe(2);
      expect(count(after, `rungraph_operation_seconds_count{type="query"}`)).toBe(2);
    }
  });

  test("see the same demo, which is introduced once", async () => {
    const { url, out, printed } = await startTwo();
    const [, token = ""] = await printed(DEMO_TOKEN);
    const update = `mutation { updateJob(id: "ada.mnist.jobs.2", input: { description: "seen by both" }) { job { id } } }`;
    await send(url, update, token);
    const described = JSON.stringify({ data: { job: { description: "seen by both" } } });
    for (const _ of [1, 2]) {
      const { body } = await send(url, `{ job(id: "ada.mnist.jobs.2") { description } }`, token);
      expect(body).toBe(described);
    }
    expect(out().match(/Rungraph is ready/g)).toHaveLength(1);
  });

  test("complete all requests in flight after SIGTERM, and the process ends with code 0", async () => {
    const service = await startHoldingRecords();
    const { url, kill, ended, out, err, printed, origin } = await startTwo({ UPSTREAM_URL: service.url });
    const inFlight = Array.from({ length: 20 }, (_, id) => send(url, statusOf(id + 1)));
    await service.arrived(20);
    kill("SIGTERM");
    await printed(/"msg":"draining"/);
    const results = await service.releaseUntil(inFlight);
    expect(results.map(({ body }) => body)).toEqual(Array.from({ length: 20 }, () => RUNNING));
    expect(await ended).toBe(0);
    await expect(send(`${origin}/readyz`)).rejects.toThrow("ECONNREFUSED");
    expect(out()).not.toContain("worker died");
    expect(err()).not.toMatch(/^ {4}at /m);
  });

  test("end at once with code 1 on a second signal", async () => {
    const service = await startHoldingRecords();
    const { url, kill, ended, printed } = await startTwo({ UPSTREAM_URL: service.url });
    const inFlight = [send(url, statusOf(1)), send(url, statusOf(2))].map((each) =>
      each.catch(() => "cut off"),
    );
    await service.arrived(2);
    kill("SIGTERM");
    await printed(/"msg":"draining"/);
    kill("SIGTERM");
    // The workers as well: they hold the output open.
    expect(await ended).toBe(1);
    expect(await Promise.all(inFlight)).toEqual(["cut off", "cut off"]);
  });

  test("are replaced when they die, while the other one answers", async () => {
    const service = await startFake(() => ({ json: { id: 42, last_status: "running" } }));
    const { url, pids, printed, kill, ended } = await startTwo({ UPSTREAM_URL: service.url });
    const first = pids();
    expect(first).toHaveLength(2);
    process.kill(first[0] ?? 0, "SIGKILL");
    await printed(/"signal":"SIGKILL".*"msg":"worker died"/);
    expect((await send(url, STATUS)).body).toBe(RUNNING);
    await printed(/(?:"worker ready"[^]*){3}/);
    process.kill(first[1] ?? 0, "SIGTERM");
    await printed(/"code":0.*"msg":"worker died"/);
    await printed(/(?:"worker ready"[^]*){4}/);
    for (const _ of [1, 2, 3, 4]) expect((await send(url, STATUS)).body).toBe(RUNNING);
    expect(new Set(pids()).size).toBe(4);
    kill("SIGTERM");
    expect(await ended).toBe(0);
  });
});

describe("a worker that hangs", () => {
  /** Two workers, of which one hangs. A connection may go to that one, therefore each request is sent twice. */
  async function startHanging() {
    const service = await startFake(() => ({ json: { id: 42, last_status: "running" } }));
    const main = await startTwo({ UPSTREAM_URL: service.url });
    const [hanging = 0] = main.pids();
    process.kill(hanging, "SIGSTOP");
    // It does not notice the end of the primary process, and holds its output open.
    onTestFinished(() => {
      if (main.out().includes("worker hangs")) return;
      process.kill(hanging, "SIGKILL");
    });
    return {
      ...main,
      hanging,
      send: (path: string, query?: string) =>
        Promise.any([1, 2].map(() => send(new URL(path, main.url).href, query))),
    };
  }

  test("costs the metrics its own share, and they count it", async () => {
    const { send: sendTo } = await startHanging();
    const { status, body } = await sendTo("/metrics");
    expect(status).toBe(200);
    expect(count(body, "rungraph_silent_workers")).toBe(1);
    expect(count(body, `rungraph_build_info{version="${version}"}`)).toBe(1);
    expect(body).toContain("\nrungraph_operations_running 0\n");
  });

  test("is killed and replaced, and all answer again", async () => {
    const { hanging, printed, pids, url, origin, kill, ended } = await startHanging();
    await printed(new RegExp(`"pid":${hanging},"msg":"worker hangs"`));
    await printed(new RegExp(`"pid":${hanging},.*"signal":"SIGKILL".*"msg":"worker died"`));
    await printed(/(?:"worker ready"[^]*){3}/);
    expect(pids()).toHaveLength(3);
    for (const _ of [1, 2, 3, 4]) expect((await send(url, STATUS)).body).toBe(RUNNING);
    expect(count((await send(`${origin}/metrics`)).body, "rungraph_silent_workers")).toBe(0);
    kill("SIGTERM");
    expect(await ended).toBe(0);
  });
});

test("workers that cannot listen say so once and end with code 1", async () => {
  const taken = new URL(await listen((_, response) => void response.end()));
  const { ended, err, out } = startMain({ WORKERS: "2", HOST: "127.0.0.1", PORT: taken.port });
  expect(await ended).toBe(1);
  expect(err().match(/Cannot listen on HOST 127\.0\.0\.1, PORT \d+: EADDRINUSE/g)).toHaveLength(1);
  expect(out()).not.toContain("Rungraph is ready");
});
