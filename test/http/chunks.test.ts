import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startRaw } from "../faults/framing.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { ASK_STATUS, askFor, OUTPUTS_OF_42, RECORD_TEXT, RUNNING_ANSWER } from "../support/one-read.ts";
import { operationText } from "../support/raw-requests.ts";
import { openRaw } from "./raw-socket.ts";

const chunked = (text: string, size: number): string =>
  (text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [])
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join("");

const END = "0\r\n\r\n";

/** The head of a request whose body is sent in chunks. */
const headOf = (start: string): string =>
  [
    `${start} HTTP/1.1`,
    "Host: a",
    "Authorization: token t0ken",
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
    "\r\n",
  ].join("\r\n");

const QUERY = operationText("{ __typename }");
const ANSWER = `{"data":{"__typename":"Query"}}`;

describe("bodies in many short chunks", () => {
  test.each([
    ["GET /healthz", 200],
    ["POST /healthz", 200],
    ["PUT /readyz", 200],
    ["POST /metrics", 200],
    ["POST /", 307],
    ["POST /nowhere", 404],
    ["POST /graphql", 413],
    ["GET /graphql?query={__typename}", 0],
    ["POST /mcp", 413],
    ["DELETE /mcp", 405],
    ["POST /mcp without it", 404],
    [`GET ${OUTPUTS_OF_42}`, 0],
    ["POST /export/nothing/runs.csv", 405],
    ["OPTIONS /graphql", 204],
  ])("end the connection of %s", async (start, status) => {
    const env = { MCP: status === 404 ? "off" : "read", CORS_ORIGINS: "https://app.example.com" };
    const { url } = await startBefore(() => new Promise(() => {}), env);
    const { write, closed, read } = await openRaw(url);
    // The body has no end.
    void write(headOf(start.replace(" without it", "")) + chunked(" ".repeat(60_000), 1));
    await closed;
    expect(read().split(" ")[1] ?? "0").toBe(`${status}`);
  });

  test.each([
    ["one byte, 10,000 of them", QUERY.padEnd(10_000), 1, 200],
    ["one byte, 12,000 of them", QUERY.padEnd(12_000), 1, 413],
    ["10 bytes, in a long body", QUERY.padEnd(250_000), 10, 200],
    ["9 bytes, in a long body", QUERY.padEnd(250_000), 9, 413],
  ])("are read up to a limit: chunks of %s", async (_, body, size, status) => {
    const { url } = await startBefore({});
    const { write, statuses, read } = await openRaw(url);
    const sent = headOf("POST /graphql") + chunked(body, size) + END;
    // A client that continues to send after the response may lose it.
    for (let at = 0; at < sent.length && read() === ""; at += 1_000) {
      await write(sent.slice(at, at + 1_000));
      await setImmediate();
    }
    const [first] = await statuses(1, status === 200 ? ANSWER : END);
    expect(first?.slice(0, 3)).toBe(`${status}`);
    const refusal =
      "Expected a body in larger chunks, got one in more than 10000 chunks of fewer than 16 bytes.";
    expect(read().includes(refusal)).toBe(status === 413);
  });

  test("in an upstream response are refused", async () => {
    const bodies = [chunked(RECORD_TEXT.padEnd(9_000), 1), chunked(RECORD_TEXT.padEnd(50_000), 1)];
    const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let asked = 0;
    const service = await startRaw(({ write }) => write(head + bodies[asked++] + END));
    const gateway = await startGateway({ upstream: service });
    expect(await askFor(gateway, ASK_STATUS)).toEqual(RUNNING_ANSWER);
    const { errors } = await askFor(gateway, ASK_STATUS);
    expect(errors?.map(({ message, extensions }) => [message, extensions["code"]])).toEqual([
      [
        "The service's response is in more than 10000 chunks of fewer than 16 bytes.",
        "UPSTREAM_BAD_RESPONSE",
      ],
    ]);
  });
});

test("an unread body closes its connection after the response", async () => {
  const { url } = await startBefore({});
  for (const framing of [
    "Content-Length: 2\r\n\r\n{}",
    `Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n${END}`,
  ]) {
    const { write, closed, read } = await openRaw(url);
    await write(`POST /healthz HTTP/1.1\r\nHost: a\r\n${framing}`);
    await closed;
    expect(read()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close\r\n[^]*alive\n/i);
  }
  const { write, statuses } = await openRaw(url);
  for (const count of [1, 2]) {
    await write("GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    expect(await statuses(count, "\n")).toHaveLength(count);
  }
});
