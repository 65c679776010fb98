import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { reaches } from "../support/metrics.ts";
import { JSON_BODY, operationsIn, operationText, type Sending, sendTo } from "../support/raw-requests.ts";
import { openRaw } from "./raw-socket.ts";

/** A chunked body without an announced length. */
const inChunks = (text: string) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of text.match(/[^]{1,1000}/g) ?? [])
        controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

describe("request bodies", () => {
  const STOP = `mutation { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id } } }`;
  const form = new FormData();
  form.set("operations", operationText(STOP));
  form.set("map", "{}");

  test.each<[string, Sending]>([
    ["a form", { body: new URLSearchParams({ query: STOP }) }],
    ["a multipart form", { body: form }],
    ["a bare document", { body: STOP, headers: { "content-type": "application/graphql" } }],
    ...[
      { "content-type": "text/plain" },
      { "content-type": "text/plain; application/json" },
      { "content-type": "" },
      { ...JSON_BODY, "content-encoding": "gzip" },
    ].map((headers): [string, Sending] => [JSON.stringify(headers), { headers, body: operationText(STOP) }]),
  ])("of %s are refused without execution", async (_, sending) => {
    const { url, logged, calls, demo } = await startDemoGateway();
    const token = demo.users[0]?.token ?? "";
    const headers = { ...sending.headers, authorization: `token ${token}` };
    const { status, codes } = await sendTo(`${url}/graphql`, { ...sending, headers });
    expect(status).toBe(415);
    expect(codes()).toEqual(["BAD_REQUEST"]);
    expect(calls()).toEqual([]);
    expect(operationsIn(logged() || "{}")).toEqual([]);
  });

  const withLength = (bytes: number) => operationText("{ __typename }").padEnd(bytes);

  test.each([
    ["with its length", (bytes: number) => withLength(bytes)],
    ["in chunks", (bytes: number) => inChunks(withLength(bytes))],
  ])("sent %s may have at most MAX_BODY_BYTES", async (_, body) => {
    const { url } = await startDemoGateway({ env: { MAX_BODY_BYTES: "5000", MAX_OPERATIONS: "1" } });
    for (const bytes of [5_000, 5_001, 500_000, 100]) {
      const sent = await sendTo(`${url}/graphql`, { body: body(bytes), headers: JSON_BODY });
      const isTooLong = bytes > 5_000;
      expect([bytes, sent.status]).toEqual([bytes, isTooLong ? 413 : 200]);
      expect(sent.text).toContain(isTooLong ? `"OPERATION_TOO_LARGE"` : `{"data":{"__typename":"Query"}}`);
    }
  });

  test("that are too long close their connection immediately", async () => {
    const { url } = await startDemoGateway();
    const { write, closed, read } = await openRaw(url);
    const head = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ";
    await write(`${head}9999999\r\n\r\n{"query":`);
    await closed;
    expect(read()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("that break off half-way release their permits", async () => {
    const gateway = await startDemoGateway();
    const { socket, write, closed } = await openRaw(gateway.url);
    const head = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99";
    await write(`${head}\r\n\r\n{"query":`);
    await reaches(gateway, "rungraph_operations_running", 1);
    socket.destroy();
    await closed;
    expect(await reaches(gateway, "rungraph_operations_running", 0)).toBe(true);
  });

  const HEAD = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
  const ANSWER = JSON.stringify({ data: { __typename: "Query" } });
  const OVERLOADED = expect.stringMatching(
    /^HTTP\/1\.1 503 [^]*connection: close\r\n[^]*\{"errors":\[\{"message":"The gateway is overloaded; try again later\.","extensions":\{"code":"SERVICE_OVERLOADED","requestId":"[\w-]+"\}\}\]\}/i,
  );

  test("being received share a limit that rejects the largest caller's oldest body", async () => {
    const gateway = await startDemoGateway({ env: { MAX_WAITING_BYTES: "3000" } });
    const token = gateway.demo.users[0]?.token ?? "";
    await gateway.ask("{ viewer { username } }", {}, { token });
    const begin = async (bytes: number, headers = "") => {
      const raw = await openRaw(gateway.url);
      const text = operationText("{ __typename }").padEnd(bytes);
      await raw.write(`${HEAD}${headers}Content-Length: ${bytes}\r\n\r\n${text.slice(0, -1)}`);
      return raw;
    };
    const known = await begin(1_001, `Authorization: token ${token}\r\n`);
    await reaches(gateway, "rungraph_waiting_bytes", 1_000);
    const first = await begin(1_001);
    await reaches(gateway, "rungraph_waiting_bytes", 2_000);
    const second = await begin(1_501);
    await first.closed;
    expect(first.read()).toEqual(OVERLOADED);
    await reaches(gateway, "rungraph_waiting_bytes", 2_500);
    for (const each of [second, known]) {
      await each.write(" ");
      expect(await each.statuses(1, ANSWER)).toEqual(["200 OK"]);
    }
    expect(await reaches(gateway, "rungraph_waiting_bytes", 0)).toBe(true);
  });

  test("that are complete count towards their caller's memory", async () => {
    const { url } = await startDemoGateway({ env: { MAX_UPSTREAM_BYTES: "100000" } });
    const body = (bytes: number) => operationText("{ __typename }").padEnd(bytes);
    const [within, beyond] = await Promise.all(
      [100_000, 100_001].map((bytes) => sendTo(`${url}/graphql`, { body: body(bytes), headers: JSON_BODY })),
    );
    expect([within?.status, within?.text]).toEqual([200, ANSWER]);
    expect([beyond?.status, beyond?.codes()]).toEqual([400, ["REQUEST_LIMIT_EXCEEDED"]]);
  });
});
