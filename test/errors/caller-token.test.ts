import { describe, expect, test } from "vitest";
import { statusOf } from "../http/raw-socket.ts";
import { clientOf } from "../live/socket-client.ts";
import { MCP_HEADERS, rpc } from "../support/agent.ts";
import { pathIn } from "../support/fake.ts";
import { startBefore } from "../support/gateway.ts";
import {
  ASK_STATUS,
  failedStatus,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  SECRET_TOKEN,
} from "../support/one-read.ts";
import { sendTo } from "../support/raw-requests.ts";
import HEADERS from "./callers-headers.json" with { type: "json" };
import UNUSABLE from "./unusable-tokens.json" with { type: "json" };

const RECORDS = { "ada/mnist/experiments/42/": RUNNING_RECORD };

describe("the gateway", () => {
  test.each(UNUSABLE)("sends nothing without a usable token: $case", async ({ authorization }) => {
    const { ask, service } = await startBefore(RECORDS, {}, { token: null });
    const headers = { ...(authorization !== null && { authorization }), "x-request-id": "request-1" };
    const answer = await ask(ASK_STATUS, {}, { headers });
    expect(answer).toEqual(
      failedStatus(
        "UNAUTHENTICATED",
        "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
      ),
    );
    expect(service.calls()).toEqual([]);
  });

  test.each(["token", "TOKEN", "Bearer", "bearer", "Token  "])(
    "replaces the scheme %j of a token with `token`",
    async (scheme) => {
      const { ask, service } = await startBefore(RECORDS, {}, { token: null });
      const headers = { authorization: `${scheme} ${SECRET_TOKEN}` };
      expect(await ask(ASK_STATUS, {}, { headers })).toEqual(RUNNING_ANSWER);
      expect(service.seen().map((seen) => seen.headers["authorization"])).toEqual([`token ${SECRET_TOKEN}`]);
    },
  );

  test("forwards a token of 12,000 characters from every transport", async () => {
    const token = "ab+/".repeat(3_000);
    const { ask, url, service } = await startBefore(RECORDS, { MCP: "read" }, { token });
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    const authorization = `Bearer ${token}`;
    const results = clientOf(url, { authorization }).iterate({ query: ASK_STATUS });
    expect(await results.next()).toEqual({ done: false, value: RUNNING_ANSWER });
    const call = rpc("tools/call", { name: "graphql_query", arguments: { query: ASK_STATUS } });
    await sendTo(`${url}/mcp`, { headers: { ...MCP_HEADERS, authorization }, body: call });
    await sendTo(url + OUTPUTS_OF_42, { method: "GET", headers: { authorization } });
    const sent = service.seen().map(({ path, headers }) => [pathIn(path), headers["authorization"]]);
    const record = ["ada/mnist/experiments/42/", `token ${token}`];
    const outputs = ["ada/mnist/experiments/42/outputs", `token ${token}`];
    expect(sent).toEqual([record, record, record, outputs]);
  });

  test("returns 431 for headers longer than 16,384 bytes", async () => {
    const { url } = await startBefore(RECORDS);
    for (const name of ["Authorization: token ", "X-Other: "])
      expect(await statusOf(url, "GET /healthz HTTP/1.1", "Host: a", name + "x".repeat(16_384))).toBe(
        "431 Request Header Fields Too Large",
      );
  });

  test("forwards only the token and the request id of the caller's headers", async () => {
    const { ask, service } = await startBefore(RECORDS, {}, { token: SECRET_TOKEN });
    await ask(ASK_STATUS, {}, { headers: HEADERS });
    expect(service.seen()).toEqual([
      {
        method: "GET",
        path: "/api/v1/ada/mnist/experiments/42/",
        body: "",
        headers: {
          accept: "application/json",
          authorization: `token ${SECRET_TOKEN}`,
          "user-agent": expect.stringMatching(/^rungraph\/\d/),
          "x-request-id": "request-1",
          host: new URL(service.url).host,
          connection: "keep-alive",
        },
      },
    ]);
  });
});
