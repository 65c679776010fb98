import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { JSON_BODY, operationsIn, operationText, type Sending, sendTo } from "../support/raw-requests.ts";

describe("the request id", () => {
  const ANSWERS: readonly [string, (url: string) => string, Sending][] = [
    ["an answer", (url) => `${url}/graphql`, { body: operationText("{ __typename }"), headers: JSON_BODY }],
    ["an error", (url) => `${url}/graphql`, { body: operationText("{ canary }"), headers: JSON_BODY }],
    ["a body that is no JSON", (url) => `${url}/graphql`, { body: "canary", headers: JSON_BODY }],
    ["a refused download", (url) => `${url}/downloads/canary/logs`, { method: "GET" }],
    ["a refused form", (url) => `${url}/graphql`, { body: new URLSearchParams("a=b") }],
    ["a refused length", (url) => `${url}/graphql`, { body: " ".repeat(300_000), headers: JSON_BODY }],
  ];

  test.each(ANSWERS)("that the caller gave is on %s", async (_, address, sending) => {
    const { url } = await startDemoGateway();
    const headers = { ...sending.headers, "x-request-id": "caller-4711" };
    const answer = await sendTo(address(url), { ...sending, headers });
    expect(answer.headers.get("x-request-id")).toBe("caller-4711");
    const { errors = [] } = JSON.parse(answer.text) as { errors?: { extensions: object }[] };
    for (const { extensions } of errors) expect(extensions).toMatchObject({ requestId: "caller-4711" });
  });

  test.each(["", "two words", "x".repeat(129), `"quoted"`, "<script>"])(
    "%j is none: the gateway makes one, the same for the service, the log and the answer",
    async (given) => {
      const fake = await startFake(() => ({ json: { username: "ada" } }));
      const { url, logged } = await startGateway({ upstream: fake });
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

describe("the trace context", () => {
  const VALID = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const sentOn = async (traceparent: string) => {
    const fake = await startFake(() => ({ json: { username: "ada" } }));
    const { ask } = await startGateway({ upstream: fake });
    await ask("{ viewer { isSuperuser } }", {}, { headers: { traceparent, tracestate: "vendor=canary" } });
    return fake.seen().map(({ headers }) => [headers["traceparent"], headers["tracestate"]]);
  };

  test("of the caller is handed to the service", async () => {
    expect(await sentOn(VALID)).toEqual([[VALID, undefined]]);
  });

  test.each([
    "canary",
    VALID.toUpperCase(),
    `${VALID}, ${VALID}`,
    VALID.slice(0, -1),
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
  ])("%j is none and goes nowhere", async (traceparent) => {
    expect(await sentOn(traceparent)).toEqual([[undefined, undefined]]);
  });
});
