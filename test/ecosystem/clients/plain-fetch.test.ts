import { print } from "graphql";
import { ClientError, GraphQLClient } from "graphql-request";
import { describe, expect, test } from "vitest";
import { BuildPageDocument, ExperimentPageDocument } from "../../generated/graphql.ts";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";

const RUN = { id: "ada.mnist.42" };

/** Starts a gateway. Returns the header that ada's frontend sends with every request. */
async function start() {
  const { url, calls, demo } = await startDemoGateway();
  return { url, calls, headers: { authorization: `token ${tokenOf(demo, "ada")}` } };
}

describe("graphql-request", () => {
  test("accepts a typed document with variables", async () => {
    const { url, calls, headers } = await start();
    const client = new GraphQLClient(`${url}/graphql`, { headers });
    const { experiment } = await client.request(ExperimentPageDocument, RUN);
    expect(experiment).toMatchObject({
      uniqueName: "ada.mnist.42",
      status: "SUCCEEDED",
      buildJob: { uniqueName: "ada.mnist.builds.2", status: "SUCCEEDED" },
      original: { uniqueName: "ada.mnist.37" },
      statuses: { totalCount: 6 },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments/42/",
      "GET ada/mnist/experiments/42/statuses",
    ]);
  });

  test("throws an error with codes and partial data", async () => {
    const { url, calls, headers } = await start();
    const client = new GraphQLClient(`${url}/graphql`, { headers });
    const partly = `{ there: experiment(id: "ada.mnist.42") { uniqueName } gone: experiment(id: "ada.mnist.999") { status } }`;
    const error: unknown = await client.request(partly).catch((thrown: unknown) => thrown);
    if (!(error instanceof ClientError)) throw new TypeError("expected a ClientError", { cause: error });
    const { data, errors = [], status } = error.response;
    expect({ data, status }).toEqual({
      data: { there: { uniqueName: "ada.mnist.42" }, gone: null },
      status: 200,
    });
    expect(errors.map(({ path, extensions }) => [path, extensions["code"]])).toEqual([
      [["gone"], "NOT_FOUND"],
    ]);
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/experiments/999/"]);
  });
});

/** Sends an operation as a page does without any library. */
const post = (url: string, headers: Record<string, string>, body: object) =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("plain fetch", () => {
  test("sends a printed document with its variables", async () => {
    const { url, calls, headers } = await start();
    const query = print(BuildPageDocument);
    const response = await post(url, headers, { query, variables: { id: "ada.mnist.builds.1" } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      data: {
        buildJob: {
          status: "SUCCEEDED",
          commit: "0daf388c796be0b35828f74c2a72c4005c32c43b",
          nodeScheduled: { name: "node-1" },
          logs: { hasMore: false },
        },
      },
    });
    expect(calls()).toEqual(["GET ada/mnist/builds/1/", "GET ada/mnist/builds/1/logs"]);
  });
});
