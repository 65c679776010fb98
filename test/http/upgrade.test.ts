import { expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";
import { ASK_STATUS, RUNNING_ANSWER } from "../support/one-read.ts";
import { openRaw, WEB_SOCKET } from "./raw-socket.ts";

/** Headers of the first request of `curl --http2` and of Java's `HttpClient`. */
const OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk";

const BODY = JSON.stringify({ query: ASK_STATUS });
const HEAD = `POST /graphql HTTP/1.1\r\nHost: a\r\n${OFFER}\r\nAuthorization: token t0ken`;
const POST = `${HEAD}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`;
const PLAIN = POST.replace(`${OFFER}\r\n`, "");

async function open(takesUpgrades = true) {
  const records = { "ada/mnist/experiments/42/": { last_status: "running", id: 42 } };
  const { url } = await startBefore(records, {}, { takesUpgrades });
  const { socket, closed, read, statuses } = await openRaw(url);
  return {
    socket,
    closed,
    read,
    statuses,
    answers: (count: number) => statuses(count, JSON.stringify(RUNNING_ANSWER)),
  };
}

test("answers a request that offers HTTP/2, then closes the connection", async () => {
  const { socket, closed, answers } = await open();
  socket.setNoDelay(true);
  // The body is sent in chunks.
  socket.write(POST + BODY.slice(0, 9));
  await new Promise((resolve) => void setImmediate(resolve));
  socket.write(BODY.slice(9));
  expect(await answers(1)).toEqual(["200 OK"]);
  expect(await closed).toBe(false);
});

test("accepts an upgrade to WebSocket in upper and lower case", async () => {
  const { socket, statuses } = await open();
  for (const line of [
    "GET /graphql HTTP/1.1",
    "Host: a",
    WEB_SOCKET.replace("websocket", "WebSocket"),
    "Sec-WebSocket-Protocol: graphql-transport-ws",
  ])
    socket.write(`${line}\r\n`);
  socket.write("\r\n");
  expect(await statuses(1)).toEqual(["101 Switching Protocols"]);
});

test("closes a connection that offers another protocol after an unanswered request", async () => {
  const { socket, closed, read } = await open();
  socket.write(PLAIN + BODY + POST + BODY);
  expect([await closed, read()]).toEqual([false, ""]);
});

test.each([true, false])(
  "requests after an upgrade offer are answered, or the connection closes: %s",
  async (isTaken) => {
    const { socket, closed, answers } = await open(isTaken);
    for (let count = 1; count <= 3; count++) socket.write(PLAIN + BODY);
    await answers(3);
    socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\n${OFFER}\r\n\r\n${PLAIN}${BODY}`);
    // The outcome depends on the version of Node.js.
    await expect(
      Promise.race([closed.then(() => "closed"), answers(5).then(() => "answered")]),
    ).resolves.toMatch(/./);
  },
);
