import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { sendTo } from "../support/raw-requests.ts";

describe("methods and paths", () => {
  test.each(["PUT", "PATCH", "DELETE"])("%s is not for GraphQL", async (method) => {
    const { url } = await startDemoGateway();
    const { status, headers } = await sendTo(`${url}/graphql`, { method });
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST, QUERY"]);
  });

  test.each(["/graphql/", "/graphqlx", "/api/v1/ada/mnist", "/healthz/", "/downloads/x", "/favicon.ico"])(
    "there is nothing at %s",
    async (path) => {
      const { url, calls } = await startDemoGateway();
      const { status, text } = await sendTo(url + path, { method: "GET" });
      expect([status, text]).toEqual([404, "not found\n"]);
      expect(calls()).toEqual([]);
    },
  );
});

test("probes say that the gateway lives, and that it is ready until it is asked to stop", async () => {
  const { url, drain } = await startGateway({ upstream: { url: "http://127.0.0.1:1" } });
  const probe = async (path: string) => {
    const { status, text } = await sendTo(url + path, { method: "GET" });
    return `${status} ${text}`;
  };
  expect([await probe("/healthz"), await probe("/readyz")]).toEqual(["200 alive\n", "200 ready\n"]);
  drain();
  expect([await probe("/healthz"), await probe("/readyz")]).toEqual(["200 alive\n", "503 draining\n"]);
});
