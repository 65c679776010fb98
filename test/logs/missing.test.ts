import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { codesOf } from "../support/errors.ts";
import type { FakeResponse } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { LOG_CALL, LOG_ROUTE, type LogAnswer, READ_LOG, readWindowOf } from "../support/logs.ts";
import { withDeadline } from "../support/long-timeout.ts";
import REASONS from "./missing-reasons.json" with { type: "json" };

describe("a log that cannot be read", () => {
  const MISSING = { json: "The logs are not found.", status: 404 };

  test.each([
    ["none was written is null without an error", { json: { id: 42 } }, { internalId: "42", logs: null }, []],
    ["its record is missing is NOT_FOUND", undefined, null, ["NOT_FOUND"]],
  ])("because %s", async (_, record, experiment, codes) => {
    const { ask, service } = await startBefore(({ path }) => (path.endsWith("/logs/") ? MISSING : record));
    const answer = await ask(`{ experiment(id: "ada.mnist.42") { internalId logs { text } } }`);
    expect([answer.data, codesOf(answer)]).toEqual([{ experiment }, codes]);
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", LOG_CALL]);
  });

  test.each(REASONS)("because it $case keeps the service's reason", async ({ reported, code }) => {
    const { ask, logged } = await startBefore(() => reported);
    const { data, errors } = (await ask(READ_LOG)) as LogAnswer;
    expect(data).toEqual({ experiment: { logs: null } });
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["upstream"]])).toEqual([
      [code, expect.objectContaining({ method: "GET", route: LOG_ROUTE })],
    ]);
    expect(logged()).not.toContain("unexpected");
  });

  test("is read again after a broken connection", async () => {
    let asked = 0;
    const url = await listen((_, response) => {
      if (++asked > 1) return void response.end("line 1\nline 2\n");
      response.writeHead(200, { "content-length": 14 });
      response.write("line 1\n", () => response.destroy());
    });
    const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_RETRIES: "2" } });
    expect(await readWindowOf(gateway)).toMatchObject({
      lines: ["line 1", "line 2"],
      startByte: 0,
      hasMore: false,
    });
    expect(asked).toBe(2);
  });

  test("is read again after throttling", async () => {
    const replies: FakeResponse[] = [
      { json: {}, status: 429, headers: { "retry-after": "0" } },
      { text: "line 1\n" },
    ];
    const { logged, ...gateway } = await startBefore(() => replies.shift());
    expect(await readWindowOf({ ...gateway, logged })).toMatchObject({ lines: ["line 1"] });
    expect(logged()).not.toContain("unexpected");
  });

  const begin = (response: ServerResponse, then = () => {}) =>
    response.writeHead(200, { "content-length": 5_000 }).write("line 1\n", then);
  test.each<[string, string, string, (response: ServerResponse) => unknown]>([
    ["breaks in the middle", "UPSTREAM_UNAVAILABLE", "IDLE", (given) => begin(given, () => given.destroy())],
    ["falls silent", "UPSTREAM_TIMEOUT", "IDLE", begin],
    ["is silent from the beginning", "UPSTREAM_TIMEOUT", "HEADERS", () => {}],
  ])("because the connection %s is %s", async (_, code, timeout, answer) => {
    const gone = latch();
    const url = await listen((__, response) => {
      response.on("close", gone.open);
      answer(response);
    });
    const { ask, logged } = await startGateway({
      upstream: { url },
      env: { [`UPSTREAM_${timeout}_TIMEOUT_MS`]: "100" },
    });
    const { data, errors } = (await ask(READ_LOG)) as LogAnswer;
    expect(data).toEqual({ experiment: { logs: null } });
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["upstream"]])).toEqual([
      [code, { method: "GET", route: LOG_ROUTE }],
    ]);
    expect(logged()).not.toMatch(/unexpected|127\.0\.0\.1|"(?:remote|local)Port"/);
    await gone.opened;
  });

  test("within the request deadline is UPSTREAM_TIMEOUT", async () => {
    await withDeadline(async (deadlineMs) => {
      let asked = 0;
      const gone = latch();
      const url = await listen((_, response) => {
        asked++;
        response.on("close", gone.open);
        response.write("line 1\n");
      });
      const env = { REQUEST_TIMEOUT_MS: `${deadlineMs}` };
      const { ask } = await startGateway({ upstream: { url }, env });
      const { errors } = (await ask(READ_LOG)) as LogAnswer;
      expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["UPSTREAM_TIMEOUT"]);
      expect(asked).toBe(1);
      await gone.opened;
    });
  });
});
