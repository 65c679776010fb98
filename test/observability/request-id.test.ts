import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startBefore } from "../support/gateway.ts";
import { JSON_BODY, operationsIn, operationText, type Sending, sendTo } from "../support/raw-requests.ts";
import TRACE_CONTEXTS from "./trace-contexts.json" with { type: "json" };

describe("the request id", () => {
  test.each<[string, string, Sending]>([
    ["an answer", "/graphql", { body: operationText("{ __typename }"), headers: JSON_BODY }],
    ["an error", "/graphql", { body: operationText("{ canary }"), headers: JSON_BODY }],
    ["a body that is not JSON", "/graphql", { body: "canary", headers: JSON_BODY }],
    ["a rejected download", "/downloads/canary/logs", { method: "GET" }],
    ["a rejected form", "/graphql", { body: new URLSearchParams("a=b") }],
    ["a rejected length", "/graphql", { body: " ".repeat(300_000), headers: JSON_BODY }],
  ])("that the caller sends is returned with %s", async (_, path, sending) => {
    const { url } = await startDemoGateway();
    const headers = { ...sending.headers, "x-request-id": "caller-4711" };
    const answer = await sendTo(url + path, { ...sending, headers });
    expect(answer.headers.get("x-request-id")).toBe("caller-4711");
    const { errors = [] } = JSON.parse(answer.text) as { errors?: { extensions: object }[] };
    for (const { extensions } of errors) expect(extensions).toMatchObject({ requestId: "caller-4711" });
  });

  test.each(["", "two words", "x".repeat(129), `"quoted"`, "<script>"])(
    "%j is replaced by a generated id for service, log and response",
    async (given) => {
      const { url, logged, service: fake } = await startBefore(() => ({ json: { username: "ada" } }));
      const { headers } = await sendTo(`${url}/graphql`, {
        body: operationText("{ viewer { isSuperuser } }"),
        headers: { ...JSON_BODY, authorization: "token t0ken", "x-request-id": given },
      });
      const made = headers.get("x-request-id") ?? "";
      expect(made).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/);
      expect(fake.seen().map((seen) => seen.headers["x-request-id"])).toEqual([made]);
      expect(operationsIn(logged()).map(({ requestId }) => requestId)).toEqual([made]);
    },
  );
});

test.each(TRACE_CONTEXTS)(
  "forwards trace context $given as $sent, and its state $state as $sentState",
  async ({ given: traceparent, sent, state: tracestate, sentState }) => {
    const { ask, service: fake } = await startBefore(() => ({ json: { username: "ada" } }));
    await ask("{ viewer { isSuperuser } }", {}, { headers: { traceparent, tracestate } });
    const reported = fake.seen().map(({ headers }) => [headers["traceparent"], headers["tracestate"]]);
    expect(reported).toEqual([[sent ?? undefined, sentState ?? undefined]]);
  },
);
