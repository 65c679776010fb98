import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { metricOf, reaches, settled } from "../support/metrics.ts";
import { startRaw, wireOf } from "./framing.ts";
import { openRaw } from "../http/raw-socket.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { startDelayed, startDelayedRecords } from "../support/delayed-service.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_RECORD,
  statusesOf,
  statusOf,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { begin, readFast, readOn } from "../support/readers.ts";

describe("many requests on one closed connection", () => {
  /** Sends all requests concurrently, without waiting for responses. Returns a function that disconnects. */
  function pipeline(gateway: Gateway, request: string, times = 400): () => void {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).resume();
    socket.write(request.repeat(times));
    return () => socket.destroy();
  }

  test("leave no download or upstream connection behind", async () => {
    let isLong = true;
    const half = { framing: "content-length", encoding: "none", connection: "kept" } as const;
    const service = await startRaw(({ send }) =>
      send(wireOf(half, Buffer.from("half and half"), isLong ? "stalled" : null)),
    );
    const gateway = await startGateway({ upstream: service });
    const leave = pipeline(
      gateway,
      `GET ${OUTPUTS_OF_42} HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n\r\n`,
    );
    // The gateway closes the connection itself before it has read this many requests.
    await settled(gateway, () => service.seen().length);
    await vi.waitUntil(() => service.busy() === 0, LONG_TIMEOUT);
    leave();
    // The default of MAX_DOWNLOADS_PER_TOKEN.
    expect(service.connections()).toBeLessThanOrEqual(16);
    isLong = false;
    const received = await readFast(gateway.url, { path: OUTPUTS_OF_42 });
    expect(received?.body.toString()).toBe("half and half");
  });

  test("are cancelled upstream, including requests behind an unanswered one", async () => {
    const { url, pending } = await startDelayed();
    const gateway = await startGateway({ upstream: { url } });
    const request = (id: number) =>
      `GET /graphql?query=${encodeURIComponent(statusOf(id))} HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t\r\n\r\n`;
    const leave = pipeline(gateway, request(1) + request(2), 1);
    await vi.waitUntil(() => pending.length === 2, LONG_TIMEOUT);
    leave();
    await vi.waitFor(
      () => expect(pending.map(({ destroyed }) => destroyed)).toEqual([true, true]),
      LONG_TIMEOUT,
    );
  });
});

describe("callers that do not read a long response", () => {
  /** Longer than the system buffers of a connection that the client does not read. */
  const description = "x".repeat(9_000_000);
  const long = ASK_STATUS.replace("status", "description");

  async function startLong(env: Record<string, string>) {
    const service = await startFake(({ path }) => ({
      json: {
        ...RUNNING_RECORD,
        id: experimentIn(path),
        description: experimentIn(path) === 42 ? description : "short",
      },
    }));
    const gateway = await startGateway({ upstream: service, env: { MAX_JSON_BYTES: "10000000", ...env } });
    // A token that the service has accepted may use all permits.
    for (const token of ["t0ken", "light"]) await askFor(gateway, statusOf(1), token);
    const dawdle = (token = "t0ken") => {
      const sent = begin(gateway.url, { path: "/graphql", graphql: long, token });
      onTestFinished(() => void sent.destroy());
      const response = new Promise<Parameters<typeof readOn>[0] | null>((resolve) => {
        sent.once("response", resolve).once("close", () => resolve(null));
      });
      return { sent, response };
    };
    return { service, gateway, dawdle };
  }

  test("are disconnected, largest first, if they exceed MAX_WAITING_BYTES in total", async () => {
    const env = { MAX_OPERATIONS: "16", MAX_WAITING_BYTES: "20000000", READ_TIMEOUT_MS: "600000" };
    const { dawdle } = await startLong(env);
    const light = await dawdle("light").response;
    const heavy = await Promise.all([1, 2, 3, 4].map(() => dawdle().response));
    expect(light && (await readOn(light)).isWhole).toBe(true);
    const read = await Promise.all(heavy.map((answer) => answer && readOn(answer)));
    expect(read.filter((each) => each?.isWhole).length).toBeLessThan(4);
  });
});

test("callers that disconnect before execution release their permits and memory", async () => {
  const gateway = await startGateway({
    upstream: await startDelayed(),
    env: { MAX_UPSTREAM_BYTES: "400000" },
  });
  const query = "{ __typename }";
  // After the first request the document is cached, so it is not parsed in a separate tick.
  for (const _ of [1, 2]) await gateway.ask(query);
  const variables = { more: "x".repeat(100_000) };
  const body = JSON.stringify({ query, variables });
  const head = "Host: g\r\nAccept: text/event-stream\r\nContent-Type: application/json";
  for (let caller = 0; caller < 20; caller++) {
    const { socket, write } = await openRaw(gateway.url);
    await write(`POST /graphql HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    socket.destroy();
  }
  await settled(gateway, () => gateway.logged().length);
  expect(gateway.logged()).toContain("REQUEST_CANCELLED");
  expect(await metricOf(gateway, "rungraph_operations_running")).toBe(0);
  expect((await gateway.ask(query, variables)).errors).toBeUndefined();
});

test("callers that disconnect while waiting for a connection leave the queue", async () => {
  const service = await startDelayedRecords();
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "3" },
  });
  const first = askFor(gateway, statusOf(1));
  await service.arrived(1);
  const waiting = (count: number) => reaches(gateway, "rungraph_upstream_requests_waiting", count);
  const leavers = [statusesOf([2, 3]), statusOf(4)].map((graphql) =>
    begin(gateway.url, { path: "/graphql", graphql }),
  );
  await waiting(3);
  for (const leaver of leavers) leaver.destroy();
  await waiting(0);
  const others = [5, 6, 7].map((id) => askFor(gateway, statusOf(id)));
  await waiting(3);
  const answers = await service.releaseUntil([first, ...others]);
  expect(answers.map(firstCodeOf)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(service.seen()).toHaveLength(4);
});
