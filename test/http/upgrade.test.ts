import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { ASK_STATUS, RUNNING_ANSWER } from "../support/one-read.ts";
import { openRaw } from "./raw-socket.ts";

/** What `curl --http2` and the `HttpClient` of Java send with their first request. */
const OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk";

const BODY = JSON.stringify({ query: ASK_STATUS });
const HEAD = `POST /graphql HTTP/1.1\r\nHost: a\r\n${OFFER}\r\nAuthorization: token t0ken`;
const POST = `${HEAD}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`;

async function open() {
  const service = await startRecords({ "ada/mnist/experiments/42/": { last_status: "running", id: 42 } });
  const { url } = await startGateway({ upstream: service });
  const { socket, closed, statuses } = await openRaw(url);
  return { socket, closed, answers: (count: number) => statuses(count, JSON.stringify(RUNNING_ANSWER)) };
}

test("a request that offers HTTP/2 is answered like any other, as the last one of its connection", async () => {
  const { socket, closed, answers } = await open();
  socket.setNoDelay(true);
  // Its body comes in pieces.
  socket.write(POST + BODY.slice(0, 9));
  await new Promise((resolve) => void setImmediate(resolve));
  socket.write(BODY.slice(9));
  expect(await answers(1)).toEqual(["200 OK"]);
  expect(await closed).toBe(false);
});

test("a connection that offers another protocol behind an unanswered request is closed", async () => {
  const { socket, closed } = await open();
  socket.write(POST + BODY + POST + BODY);
  const isReset = await closed;
  expect(isReset).toBe(false);
});

test("what follows the offer of another protocol in its packet is answered, or its connection closes", async () => {
  const { socket, closed, answers } = await open();
  const plain = POST.replace(`${OFFER}\r\n`, "");
  for (let count = 1; count <= 3; count++) socket.write(plain + BODY);
  await answers(3);
  socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\n${OFFER}\r\n\r\n${plain}${BODY}`);
  // Which of both depends on the version of Node.js.
  await expect(
    Promise.race([closed.then(() => "closed"), answers(5).then(() => "answered")]),
  ).resolves.toMatch(/./);
});
