import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";

describe("methods and paths", () => {
  test("a query may be asked by GET, a mutation not", async () => {
    const { url, calls } = await startDemoGateway();
    const by = (query: string) =>
      sendTo(`${url}/graphql?query=${encodeURIComponent(query)}`, {
        method: "GET",
        headers: { accept: "application/json" },
      });
    expect(JSON.parse((await by("{ __typename }")).text)).toEqual({ data: { __typename: "Query" } });
    const { status, codes } = await by(
      `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`,
    );
    expect([status, codes()]).toEqual([405, ["BAD_REQUEST"]]);
    expect(calls()).toEqual([]);
  });

  test("who accepts no type of a result is refused before the mutation is sent", async () => {
    const { url, calls } = await startDemoGateway();
    const body = operationText(
      `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`,
    );
    const headers = { ...JSON_BODY, accept: "text/html" };
    const { status, text } = await sendTo(`${url}/graphql`, { headers, body });
    const { errors } = JSON.parse(text) as Answer<never>;
    expect([status, errors?.map(({ extensions }) => extensions["code"])]).toEqual([406, ["BAD_REQUEST"]]);
    expect(calls()).toEqual([]);
  });

  test.each(["PUT", "PATCH", "DELETE", "QUERY"])("%s is not for GraphQL", async (method) => {
    const { url } = await startDemoGateway();
    const { status, headers } = await sendTo(`${url}/graphql`, { method });
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
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
