import { readFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { openRaw } from "../http/raw-socket.ts";
import { BUILT } from "../support/built.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { mainIn } from "../support/main-process.ts";

/*
 * Clients without a token that send many requests, or request long responses, and do not read. Each of them once ended a process with this
 * heap, or made it larger than the memory of its container.
 */

const HEAP = 384;
const CONTAINER_KB = 768_000;

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

async function start(heap = HEAP) {
  const program = [`--max-old-space-size=${heap}`, "--max-semi-space-size=32", mainIn(BUILT)];
  const gateway = await startGatewayProcess(null, {}, program);
  onTestFinished(gateway.kill);
  return gateway;
}

/** Peak memory of the process, in kilobytes; 0 if the system does not report it. */
const peakOf = (pid: number): number => {
  const file = `/proc/${pid}/status`;
  if (process.platform !== "linux") return 0;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(file, "utf8"))?.[1]);
};

/** A result of about 7 MB, for a document of 2 kB. */
const LONG = JSON.stringify({
  query: `{ ${numbers(85)
    .map((index) => `a${index}: _service { sdl }`)
    .join(" ")} }`,
});

/** Pipelines requests on connections that are not read. */
async function pipeline(url: string, connections: number, requests: readonly string[]): Promise<void> {
  for (const _ of numbers(connections)) {
    const { socket, write } = await openRaw(url);
    socket.pause();
    await write(requests.join(""));
  }
}

const post = async (url: string, body: string): Promise<void> => {
  const headers = { "content-type": "application/json", "accept-encoding": "gzip" };
  const response = await fetch(`${url}/graphql`, { method: "POST", headers, body });
  await response.arrayBuffer();
};

/** Opens WebSockets that are not read, and sends messages on each. */
async function flood(url: string, sockets: number, messages: readonly string[]): Promise<void> {
  for (const _ of numbers(sockets)) {
    const socket = new WebSocket(`${url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    onTestFinished(() => socket.terminate());
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(JSON.stringify({ type: "connection_init" }));
    await new Promise((resolve) => socket.once("message", resolve));
    socket.pause();
    for (const message of messages) socket.send(message, () => {});
  }
}

const subscribeTo = (id: number, payload: object) =>
  JSON.stringify({ type: "subscribe", id: `${id}`, payload });

test.each<[string, (url: string) => Promise<void>]>([
  [
    "GraphiQL's files, pipelined and not read",
    async (url) => {
      const page = await (await fetch(`${url}/graphql`, { headers: { accept: "text/html" } })).text();
      const [file = ""] = /graphiql\/graphiql\.[\w-]+\.js/.exec(page) ?? [];
      expect(file).not.toBe("");
      await pipeline(
        url,
        10,
        numbers(30).map(() => `GET /${file} HTTP/1.1\r\nhost: gateway\r\n\r\n`),
      );
    },
  ],
  [
    "documents that consist of comments",
    async (url) => {
      for (const document of numbers(100)) {
        const body = JSON.stringify({ query: `{ a${document}: __typename }\n${"#\n".repeat(84_000)}` });
        for (const _ of numbers(2)) await post(url, body);
      }
    },
  ],
  [
    "long results that are compressed",
    async (url) => void (await Promise.all(numbers(32).map(() => post(url, LONG)))),
  ],
  [
    "long single results as streams, not read",
    (url) =>
      pipeline(url, 64, [
        `POST /graphql HTTP/1.1\r\nhost: gateway\r\naccept: multipart/mixed\r\ncontent-type: application/json\r\ncontent-length: ${LONG.length}\r\n\r\n${LONG}`,
      ]),
  ],
  [
    "long results of a WebSocket that are not read",
    (url) =>
      flood(
        url,
        4,
        // Safe: it is an object.
        numbers(31).map((id) => subscribeTo(id, JSON.parse(LONG) as object)),
      ),
  ],
])("with the heap size set in deploy, a process survives %s", async (_, ask) => {
  const { url, pid, expectAlive } = await start();
  await ask(url);
  // The gateway reads all sent bytes during these requests.
  for (let asked = 0; asked < 20; asked++) await expectAlive();
  await vi.waitFor(() => expectAlive(), LONG_TIMEOUT);
  expect(peakOf(pid)).toBeLessThan(CONTAINER_KB);
});

test("survives unfinished requests with a thousand short headers each", async () => {
  // With all their headers, these heads would take 100 MB.
  const { url, expectAlive } = await start(80);
  const headers = numbers(1_000).map((index) => `h${index}: v${index}\r\n`);
  const head = `GET /healthz HTTP/1.1\r\nhost: a\r\n${headers.join("")}`;
  for (const _ of numbers(40)) {
    await Promise.all(numbers(50).map(async () => (await openRaw(url)).write(head)));
    await expectAlive();
  }
  for (let asked = 0; asked < 20; asked++) await expectAlive();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
