import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  allFail,
  answering,
  NOT_IN_TIME,
  oneOfEach,
  OUT_OF_REACH,
  sendEach,
  sortedCalls,
  UNKNOWN_OUTCOME,
} from "../support/failing-commands.ts";
import { onWire, startFake } from "../support/fake.ts";
import { listen } from "../support/listen.ts";
import { withDeadline } from "../support/patience.ts";
import { html } from "../support/replies.ts";

describe("a command is never sent twice", () => {
  test.each([
    [500, "UPSTREAM_ERROR", "The service answered 500.", UNKNOWN_OUTCOME],
    [502, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME],
    [503, "UPSTREAM_UNAVAILABLE", "The service is not ready.", {}],
    [504, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME],
    [507, "UPSTREAM_ERROR", "The service answered 507.", UNKNOWN_OUTCOME],
    [418, "UPSTREAM_ERROR", "The service answered 418.", {}],
    [429, "RATE_LIMITED", "The service allows no more requests for now.", {}],
  ])("when the service answers %i", async (status, code, message, facts) => {
    const service = await startFake(() => html(status));
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, code, message, { status, ...facts }),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test.each([
    [429, "0", "RATE_LIMITED", "The service allows no more requests for now."],
    [429, "1", "RATE_LIMITED", "The service allows no more requests for now."],
    [503, "0", "UPSTREAM_UNAVAILABLE", "The service is not ready."],
    [503, "7", "UPSTREAM_UNAVAILABLE", "The service is not ready."],
  ])("when it answers %i and asks for %s seconds of patience", async (status, seconds, code, message) => {
    const service = await startFake(() => ({ status, text: "", headers: { "retry-after": seconds } }));
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, code, message, { status, retryAfterSeconds: Number(seconds) }),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  /** A service that does something else than answer to each request, once all of it has arrived. */
  async function startFailing(fail: (response: ServerResponse) => void) {
    const calls: string[] = [];
    const url = await listen(async (request, response) => {
      for await (const _ of request);
      calls.push(onWire({ method: request.method ?? "", path: request.url ?? "" }));
      fail(response);
    });
    return { url, calls: () => calls.toSorted() };
  }

  test("when the connection ends without an answer", async () => {
    const service = await startFailing((response) => response.destroy());
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test("when the connection is reset instead of an answer", async () => {
    const service = await startFailing((response) => response.socket?.resetAndDestroy());
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test("when the connection is reset in the middle of an answer that is read", async () => {
    const service = await startFailing((response) => {
      response.writeHead(201, { "content-type": "application/json", "content-length": 5_000 });
      response.write(`{"id": `, () => response.destroy());
    });
    expect(await sendEach(service.url, answering)).toEqual(
      allFail(answering, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(answering));
  });

  test("when the connection is closed as soon as it is open", async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.on("error", () => {}).destroy();
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await sendEach(`http://127.0.0.1:${port}`, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(connections).toBe(oneOfEach.length);
  });

  test.each([
    ["to begin", "UPSTREAM_HEADERS_TIMEOUT_MS"],
    ["altogether", "UPSTREAM_TIMEOUT_MS"],
    ["for the whole request", "REQUEST_TIMEOUT_MS"],
  ])("when the answer takes longer than it may %s", async (_, setting) => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing(() => {});
      expect(await sendEach(service.url, oneOfEach, { [setting]: `${deadlineMs}` })).toEqual(
        allFail(oneOfEach, "UPSTREAM_TIMEOUT", NOT_IN_TIME, UNKNOWN_OUTCOME),
      );
      expect(service.calls()).toEqual(sortedCalls(oneOfEach));
    });
  });

  test("when an answer that is read begins and does not end in time", async () => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing((response) => void response.write(`{"id": `));
      expect(await sendEach(service.url, answering, { UPSTREAM_TIMEOUT_MS: `${deadlineMs}` })).toEqual(
        allFail(answering, "UPSTREAM_TIMEOUT", NOT_IN_TIME, UNKNOWN_OUTCOME),
      );
      expect(service.calls()).toEqual(sortedCalls(answering));
    });
  });
});
