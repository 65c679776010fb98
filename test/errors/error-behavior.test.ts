import { describe, expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";
import { ASK_STATUS, RUNNING_RECORD, STATUS_CALL } from "../support/one-read.ts";
import { askIncrementally, merge } from "../support/incremental.ts";
import { post as send } from "../support/raw-requests.ts";
import { subscribe } from "../support/subscriber.ts";

/** A non-null list with more ids than allowed, beside an experiment that does not exist and one that does. */
const QUERY = `query ($ids: [ID!]!) {
  there: experiment(id: "ada.mnist.42") { status }
  tooMany: entities(ids: $ids) { id }
  missing: experiment(id: "ada.mnist.7") { status }
}`;

const variables = { ids: Array.from({ length: 101 }, (_, index) => `ada.mnist.jobs.${index + 1}`) };

async function startFixture() {
  const { service, ...gateway } = await startBefore({ "ada/mnist/experiments/42/": RUNNING_RECORD });
  const post = async (params: object) => {
    const response = await send(`${gateway.url}/graphql`, { query: QUERY, variables, ...params });
    const { data, errors } = (await response.json()) as {
      data?: unknown;
      errors?: readonly { path?: readonly unknown[]; extensions: { code: string } }[];
    };
    return {
      data,
      errors: errors?.map(({ path, extensions }) => `${path?.join(".") ?? "request"}: ${extensions.code}`),
    };
  };
  return { ...gateway, post, calls: () => service.calls() };
}

describe("an error in a non-null field", () => {
  const propagated = { data: null, errors: ["tooMany: BAD_USER_INPUT"] };

  test("nulls the nearest nullable parent", async () => {
    const { post } = await startFixture();
    for (const params of [{}, { onError: "PROPAGATE" }, { onError: null }])
      expect(await post(params)).toEqual(propagated);
  });

  test("leaves its parents intact with onError NULL", async () => {
    const { post, calls } = await startFixture();
    expect(await post({ onError: "NULL" })).toEqual({
      data: { there: { status: "RUNNING" }, tooMany: null, missing: null },
      errors: ["tooMany: BAD_USER_INPUT", "missing: NOT_FOUND"],
    });
    expect(calls()).toEqual([STATUS_CALL, "GET ada/mnist/experiments/7/"]);
  });
});

test("with HALT, only the first error is returned, without data", async () => {
  const { post } = await startFixture();
  const query = `{
    missing: experiment(id: "ada.mnist.7") { status }
    wrong: experiment(id: "nonsense") { status }
  }`;
  expect(await post({ query, variables: {}, onError: "HALT" })).toEqual({
    data: null,
    errors: ["wrong: BAD_USER_INPUT"],
  });
  expect(await post({ query: ASK_STATUS, variables: {}, onError: "HALT" })).toEqual({
    data: { experiment: { status: "RUNNING" } },
    errors: undefined,
  });
});

test("with HALT, a failed field prevents later commands", async () => {
  const { post, calls } = await startFixture();
  const stop = (id: string) => `stopExperiment(id: "${id}", force: true) { deletedId: __typename }`;
  const query = `mutation { first: ${stop("nonsense")} second: ${stop("ada.mnist.42")} }`;
  expect(await post({ query, variables: {}, onError: "HALT" })).toEqual({
    data: null,
    errors: ["first: BAD_USER_INPUT"],
  });
  expect(calls()).toEqual([]);
});

test("with HALT, only the first error of later payloads is returned", async () => {
  const { url } = await startFixture();
  const query = `{
    there: experiment(id: "ada.mnist.42") { status }
    ... @defer { missing: experiment(id: "ada.mnist.7") { status } }
    ... @defer { other: experiment(id: "ada.mnist.8") { status } }
  }`;
  const payloads = await askIncrementally(url, { query, onError: "HALT" }, { authorization: "token t0ken" });
  const { data, errors, failed } = merge(payloads);
  expect({ data, failed }).toEqual({ data: { there: { status: "RUNNING" } }, failed: [[], []] });
  const codes = errors.map(({ path, extensions }) => `${path?.join()}: ${String(extensions?.["code"])}`);
  expect(new Set(codes)).toEqual(new Set(["missing: NOT_FOUND"]));
});

test("applies onError to each subscription event", async () => {
  const { url } = await startFixture();
  const query = `subscription {
    runUpdated(id: "ada.mnist.experiments.42") {
      run { ... on Experiment { tooMany: statuses(first: 0) { totalCount } } }
    }
  }`;
  const subscriber = await subscribe(url, { query, onError: "HALT" });
  expect(await subscriber.next()).toMatchObject({
    data: null,
    errors: [{ path: ["runUpdated", "run", "tooMany"] }],
  });
});

test("refuses other onError values over POST and GET before sending anything", async () => {
  const { post, url, calls } = await startFixture();
  const refused = { data: undefined, errors: ["request: BAD_REQUEST"] };
  expect(await post({ onError: "ABORT" })).toEqual(refused);
  expect(await post({ onError: 5 })).toEqual(refused);
  const get = await fetch(`${url}/graphql?query={__typename}&onError=null`);
  expect(await get.json()).toMatchObject({
    errors: [{ message: "onError: expected one of NULL, PROPAGATE, HALT" }],
  });
  expect(calls()).toEqual([]);
});
