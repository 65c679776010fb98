import { describe, expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";
import {
  ASK_STATUS,
  failedStatus,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  SECRET_TOKEN,
} from "../support/one-read.ts";
import HEADERS from "./callers-headers.json" with { type: "json" };
import UNUSABLE from "./unusable-tokens.json" with { type: "json" };

const RECORDS = { "ada/mnist/experiments/42/": RUNNING_RECORD };

describe("who asks", () => {
  test.each([
    ...UNUSABLE.map(({ what, authorization }) => [what, authorization] as const),
    ["a token of 4,097 characters", `token ${"x".repeat(4_097)}`] as const,
  ])("without a token that can be used nothing is sent: %s", async (_, authorization) => {
    const { ask, service } = await startBefore(RECORDS, {}, { token: null });
    const headers = { ...(authorization !== null && { authorization }), "x-request-id": "story-1" };
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
    "a token behind the word %j is sent behind the word `token`",
    async (scheme) => {
      const { ask, service } = await startBefore(RECORDS, {}, { token: null });
      const headers = { authorization: `${scheme} ${SECRET_TOKEN}` };
      expect(await ask(ASK_STATUS, {}, { headers })).toEqual(RUNNING_ANSWER);
      expect(service.seen().map((seen) => seen.headers["authorization"])).toEqual([`token ${SECRET_TOKEN}`]);
    },
  );

  test("of the caller's headers the service sees the token and the request id, and nothing else", async () => {
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
          "x-request-id": "story-1",
          host: new URL(service.url).host,
          connection: "keep-alive",
        },
      },
    ]);
  });
});
