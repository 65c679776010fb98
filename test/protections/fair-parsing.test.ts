import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { rpc } from "../support/agent.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { startFake } from "../support/fake.ts";
import { ASK_STATUS, RUNNING_RECORD } from "../support/one-read.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

const HEAVY = 100;
const LIGHT = 10;

const post = (path: string, token: string | null, body: string) =>
  [
    `POST ${path} HTTP/1.1`,
    "Host: gateway",
    ...(token === null ? [] : [`Authorization: token ${token}`]),
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    `\r\n${body}`,
  ].join("\r\n");

/** A request with a unique document, which must be parsed in its caller's share of time. */
const requestOf = (token: string, number: number) =>
  post("/graphql", token, JSON.stringify({ query: `query Q${number} { gateway { version } }` }));

/** Sends the requests in one tick of the event loop, each on its own connection. Returns the responses. */
async function sendAtOnce(gateway: Pick<Gateway, "url">, requests: readonly string[]) {
  const { port } = new URL(gateway.url);
  const sockets = requests.map(() => connect(Number(port), "127.0.0.1"));
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  stopwatchRuns();
  requests.forEach((request, index) => sockets[index]?.write(request));
  return sockets.map((socket) => once(socket, "data"));
}

/** How many other requests were answered before all requests of a known token that came last. */
async function answeredBefore(
  heavyOf: (number: number) => string,
  lightOf = (number: number) => requestOf("known", HEAVY + number),
): Promise<number> {
  const gateway = await startGateway({
    upstream: await startFake(() => ({ json: RUNNING_RECORD })),
    env: { MAX_OPERATIONS: "1000", MAX_OPERATIONS_PER_TOKEN: "1000", MCP: "read" },
  });
  for (const token of ["known", "heavy"]) await gateway.ask(ASK_STATUS, {}, { token });
  // The first message loads the SDK.
  await (
    await sendAtOnce(gateway, [post("/mcp", null, rpc("tools/list"))])
  )[0];
  const answers = await sendAtOnce(gateway, [
    ...Array.from({ length: HEAVY }, (_, number) => heavyOf(number)),
    ...Array.from({ length: LIGHT }, (_, number) => lightOf(number)),
  ]);
  let answered = 0;
  for (const answer of answers.slice(0, HEAVY)) void answer.then(() => answered++);
  await Promise.all(answers.slice(HEAVY));
  const before = answered;
  await Promise.all(answers);
  return before;
}

test("reads a token's few documents between many documents of another token", async () => {
  expect(await answeredBefore((number) => requestOf("heavy", number))).toBeLessThan(HEAVY / 2);
});

test("reads a verified token's documents between documents of twenty invented tokens", async () => {
  const heavyOf = (number: number) => requestOf(`invented${number % 20}`, number);
  expect(await answeredBefore(heavyOf)).toBeLessThan(HEAVY / 2);
});

test("answers a token's MCP messages between messages of callers without tokens", async () => {
  const list = rpc("tools/list");
  const lightOf = () => post("/mcp", "known", list);
  expect(await answeredBefore(() => post("/mcp", null, list), lightOf)).toBeLessThan(0.75 * HEAVY);
});
