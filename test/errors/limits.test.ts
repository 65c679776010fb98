import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

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

test("a fragment that contains itself is an error of the document, not a fall without end", async () => {
  const { ask } = await startGateway({ upstream: await startRecords({}) });
  const { data, errors } = await ask<unknown, unknown>(
    `{ experiment(id: "ada.mnist.42") { ...A } } fragment A on Experiment { original { ...A } }`,
  );
  expect(data ?? null).toBeNull();
  expect(errors?.map(({ extensions }) => extensions["code"])).toContain("GRAPHQL_VALIDATION_FAILED");
});
