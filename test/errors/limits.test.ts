import { getIntrospectionQuery } from "graphql";
import { describe, expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { RUNNING_RECORD } from "../support/one-read.ts";

test("an operation that needs more requests than one may cause gets what its budget buys", async () => {
  const service = await startRecords({
    "ada/mnist/experiments/1/": { id: 1, last_status: "running" },
    "ada/mnist/experiments/2/": { id: 2, last_status: "failed" },
    "ada/mnist/experiments/3/": { id: 3, last_status: "created" },
  });
  const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "2" } });
  const answer = await ask(
    `{
      a: experiment(id: "ada.mnist.1") { status }
      b: experiment(id: "ada.mnist.2") { status }
      c: experiment(id: "ada.mnist.3") { status }
    }`,
    {},
    { headers: { "x-request-id": "story-1" } },
  );
  expect(answer).toEqual({
    data: { a: { status: "RUNNING" }, b: { status: "FAILED" }, c: null },
    errors: [
      {
        message: "This operation needs more than 2 requests to the service; ask for less at once.",
        locations: [{ line: 4, column: 7 }],
        path: ["c"],
        extensions: { code: "REQUEST_LIMIT_EXCEEDED", unsentRequests: 1, requestId: "story-1" },
      },
    ],
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
});

describe("the depth of an operation", () => {
  const env = { MAX_DEPTH: "3" };

  test.each([
    ["plain", `{ experiment(id: "ada.mnist.42") { project { name } } }`],
    ["by an inline fragment", `{ experiment(id: "ada.mnist.42") { ... on Run { project { name } } } }`],
    [
      "by a named fragment",
      `{ experiment(id: "ada.mnist.42") { ...P } } fragment P on Experiment { project { name } }`,
    ],
  ])("may be the limit: %s", async (_, query) => {
    const service = await startRecords({ "ada/mnist/experiments/42/": RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env });
    expect(await ask(query)).toEqual({ data: { experiment: { project: { name: "mnist" } } } });
  });

  test.each([
    ["plain", `{ experiment(id: "ada.mnist.42") { project { owner { username } } } }`],
    [
      "by an inline fragment",
      `{ experiment(id: "ada.mnist.42") { project { ... on Project { owner { id } } } } }`,
    ],
    [
      "by a named fragment",
      `{ experiment(id: "ada.mnist.42") { ...P } } fragment P on Experiment { project { owner { id } } }`,
    ],
  ])("may not be more: %s", async (_, query) => {
    const service = await startRecords({ "ada/mnist/experiments/42/": RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env });
    const { data, errors } = await ask<unknown, unknown>(query);
    expect(data ?? null).toBeNull();
    expect(errors?.map(({ message, extensions }) => [message, extensions["code"]])).toEqual([
      ["Expected an operation at most 3 fields deep, got a deeper one.", "OPERATION_TOO_DEEP"],
    ]);
    expect(service.calls()).toEqual([]);
  });

  test("leaves room for the introspection query of tools", async () => {
    const { ask } = await startGateway({ upstream: await startRecords({}), env });
    expect(await ask(getIntrospectionQuery())).toHaveProperty("data.__schema.types");
  });

  test("of a fragment that contains itself is an error, not a fall without end", async () => {
    const { ask } = await startGateway({ upstream: await startRecords({}), env });
    const { data, errors } = await ask<unknown, unknown>(
      `{ experiment(id: "ada.mnist.42") { ...A } } fragment A on Experiment { original { ...A } }`,
    );
    expect(data ?? null).toBeNull();
    expect(errors?.map(({ extensions }) => extensions["code"])).toContain("GRAPHQL_VALIDATION_FAILED");
  });
});
